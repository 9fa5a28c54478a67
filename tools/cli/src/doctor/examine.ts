import {
  type HandshakeReport,
  isWhole,
  readLastReports,
  regressionOf,
  runHandshake,
  saveReport,
  userEnvironment,
} from '@callboard/orchestrator/doctor';
import { messageOf } from '@callboard/runtime/errors';
import { quoted } from '../command-line/quote.ts';
import type { Edges } from '../edges.ts';
import type { DoctorOptions } from './doctor-options.ts';
import type { Examination } from './examination.ts';
import { lookAtMachine, type UsableClaude } from './machine.ts';
import { type MachineCheck, warning } from './machine-check.ts';
import { createPrinter, type Printer } from './print.ts';

interface Parts {
  readonly options: DoctorOptions;
  readonly edges: Edges;
  readonly signal: AbortSignal;
  /** Null where nothing is said until all is known. */
  readonly printer: Printer | null;
  readonly tell: (check: MachineCheck) => void;
}

/**
 * Looks at everything, says it, and keeps what came of the handshake for the next time.
 * @throws the signal's reason when that aborts
 */
export async function examine(options: DoctorOptions, edges: Edges, signal: AbortSignal): Promise<Examination> {
  const printer = options.json ? null : createPrinter(edges);
  const checks: MachineCheck[] = [];
  const tell = (check: MachineCheck) => {
    checks.push(check);
    printer?.check(check);
  };
  printer?.begin();
  const claude = await lookAtMachine(options, edges, tell);
  signal.throwIfAborted();
  const tried =
    claude !== null && options.handshake ? await tryOut(claude, { options, edges, signal, printer, tell }) : {};
  const { handshake = null, regression = null } = tried;
  const isWell = checks.every(({ verdict }) => verdict !== 'problem') && (handshake === null || isWhole(handshake));
  const examination: Examination = { ok: isWell, checks, handshake, regression };
  if (options.json) edges.out(JSON.stringify(examination, null, 2));
  else printer?.end(examination);
  return examination;
}

async function tryOut(claude: UsableClaude, parts: Parts): Promise<Partial<Examination>> {
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
    const found = `could not be kept for comparison with later versions: ${messageOf(error)}`;
    tell({ id: 'result', name: 'Result', ...warning(found, `ls -ld ${quoted(options.dataDir)}`) });
  }
  return { handshake, regression };
}
