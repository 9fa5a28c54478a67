import { shellQuote } from '@callboard/contract';
import {
  type HandshakeReport,
  isWhole,
  readLastReports,
  regressionOf,
  runHandshake,
  saveReport,
} from '@callboard/orchestrator/doctor';
import { userEnvironment } from '@callboard/runtime/environment';
import { messageOf } from '@callboard/runtime/errors';
import type { Platform } from '../edges.ts';
import { checkMachine, type UsableClaude } from './check-machine.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { createPrinter, type Printer } from './printer.ts';
import { type DoctorReport, type MachineCheck, warning } from './report.ts';

interface Deps {
  readonly options: DoctorOptions;
  readonly platform: Platform;
  readonly signal: AbortSignal;
  /** Null for `--json`, which prints only at the end. */
  readonly printer: Printer | null;
  readonly notify: (check: MachineCheck) => void;
}

/**
 * Runs all checks, prints the results, and saves those of the handshake to compare the next version with.
 * @throws the signal's reason when that aborts
 */
export async function runDoctor(
  options: DoctorOptions,
  platform: Platform,
  signal: AbortSignal,
): Promise<DoctorReport> {
  const printer = options.json ? null : createPrinter(platform);
  const checks: MachineCheck[] = [];
  const notify = (check: MachineCheck) => {
    checks.push(check);
    printer?.check(check);
  };
  printer?.begin();
  const claude = await checkMachine(options, platform, notify);
  signal.throwIfAborted();
  const tried =
    claude !== null && options.handshake ? await tryOut(claude, { options, platform, signal, printer, notify }) : {};
  const { handshake = null, regression = null } = tried;
  const isOk = checks.every(({ verdict }) => verdict !== 'problem') && (handshake === null || isWhole(handshake));
  const report: DoctorReport = { ok: isOk, checks, handshake, regression };
  if (options.json) platform.out(JSON.stringify(report, null, 2));
  else printer?.end(report);
  return report;
}

async function tryOut(claude: UsableClaude, deps: Deps): Promise<Partial<DoctorReport>> {
  const { options, platform, signal, printer, notify } = deps;
  const { path, version } = claude;
  printer?.handshakeBegins(version);
  let handshake: HandshakeReport;
  try {
    const ownPath = userEnvironment(platform.env).PATH;
    const limits = platform.handshakeLimits === undefined ? {} : { limits: platform.handshakeLimits };
    handshake = await runHandshake({ claude: path, version, path: ownPath, signal, now: platform.now, ...limits });
  } catch (error) {
    signal.throwIfAborted();
    const found = `claude could not be tried out: ${messageOf(error)}`;
    notify({
      id: 'handshake',
      name: 'Handshake',
      verdict: 'problem',
      found,
      advice: 'Set TMPDIR to a folder with room',
    });
    return {};
  }
  const regression = regressionOf(handshake, await readLastReports(options.dataDir));
  printer?.handshake(handshake, regression);
  try {
    await saveReport(options.dataDir, handshake);
  } catch (error) {
    const found = `could not be saved for a comparison with later versions: ${messageOf(error)}`;
    notify({ id: 'result', name: 'Result', ...warning(found, `ls -ld ${shellQuote(options.dataDir)}`) });
  }
  return { handshake, regression };
}
