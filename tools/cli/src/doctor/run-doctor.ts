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
import type { Edges } from '../edges.ts';
import { checkMachine, type UsableClaude } from './check-machine.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { createPrinter, type Printer } from './printer.ts';
import { type DoctorReport, type MachineCheck, warning } from './report.ts';

interface Parts {
  readonly options: DoctorOptions;
  readonly edges: Edges;
  readonly signal: AbortSignal;
  /** Null for `--json`, which prints only at the end. */
  readonly printer: Printer | null;
  readonly tell: (check: MachineCheck) => void;
}

/**
 * Runs all checks, prints the results, and saves those of the handshake to compare the next version with.
 * @throws the signal's reason when that aborts
 */
export async function runDoctor(options: DoctorOptions, edges: Edges, signal: AbortSignal): Promise<DoctorReport> {
  const printer = options.json ? null : createPrinter(edges);
  const checks: MachineCheck[] = [];
  const tell = (check: MachineCheck) => {
    checks.push(check);
    printer?.check(check);
  };
  printer?.begin();
  const claude = await checkMachine(options, edges, tell);
  signal.throwIfAborted();
  const tried =
    claude !== null && options.handshake ? await tryOut(claude, { options, edges, signal, printer, tell }) : {};
  const { handshake = null, regression = null } = tried;
  const isOk = checks.every(({ verdict }) => verdict !== 'problem') && (handshake === null || isWhole(handshake));
  const report: DoctorReport = { ok: isOk, checks, handshake, regression };
  if (options.json) edges.out(JSON.stringify(report, null, 2));
  else printer?.end(report);
  return report;
}

async function tryOut(claude: UsableClaude, parts: Parts): Promise<Partial<DoctorReport>> {
  const { options, edges, signal, printer, tell } = parts;
  const { path, version } = claude;
  printer?.handshakeBegins(version);
  let handshake: HandshakeReport;
  try {
    const ownPath = userEnvironment(edges.env).PATH;
    const limits = edges.handshakeLimits === undefined ? {} : { limits: edges.handshakeLimits };
    handshake = await runHandshake({ claude: path, version, path: ownPath, signal, now: edges.now, ...limits });
  } catch (error) {
    signal.throwIfAborted();
    const found = `claude could not be tried out: ${messageOf(error)}`;
    tell({ id: 'handshake', name: 'Handshake', verdict: 'problem', found, advice: 'Set TMPDIR to a folder with room' });
    return {};
  }
  const regression = regressionOf(handshake, await readLastReports(options.dataDir));
  printer?.handshake(handshake, regression);
  try {
    await saveReport(options.dataDir, handshake);
  } catch (error) {
    const found = `could not be saved for a comparison with later versions: ${messageOf(error)}`;
    tell({ id: 'result', name: 'Result', ...warning(found, `ls -ld ${shellQuote(options.dataDir)}`) });
  }
  return { handshake, regression };
}
