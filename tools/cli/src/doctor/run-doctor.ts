import { styleText } from 'node:util';
import { shellQuote } from '@callboard/contract';
import {
  type HandshakeCheck,
  type HandshakeReport,
  isWhole,
  type Regression,
  readLastReports,
  regressionOf,
  runHandshake,
  saveReport,
} from '@callboard/orchestrator/doctor';
import { userEnvironment } from '@callboard/runtime/environment';
import { messageOf } from '@callboard/runtime/errors';
import type { Platform } from '../platform.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { checkMachine, type DoctorReport, type MachineCheck, type UsableClaude, warning } from './machine-checks.ts';

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

/** Prints the results for people, one by one. */
export interface Printer {
  begin(): void;
  check(check: MachineCheck): void;
  handshakeBegins(version: string): void;
  handshake(report: HandshakeReport, regression: Regression | null): void;
  end(report: DoctorReport): void;
}

type Colour = 'green' | 'yellow' | 'red' | 'dim' | 'bold';

const VERDICT_COLOURS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;
const PROMISE_COLOURS = { yes: 'green', no: 'red', untried: 'yellow' } as const;
/** Wide enough for the longest entry of each column. */
const VERDICT_WIDTH = 'warning'.length;
const NAME_WIDTH = 'Port between the servers'.length;

function createPrinter({ out, env, isTerminal }: Pick<Platform, 'out' | 'env' | 'isTerminal'>): Printer {
  const hasColours = isTerminal && (env.NO_COLOR === undefined || env.NO_COLOR === '');
  const paint = (colour: Colour, text: string) =>
    hasColours ? styleText(colour, text, { validateStream: false }) : text;
  const indent = ' '.repeat(VERDICT_WIDTH + NAME_WIDTH + 4);

  function promise({ id, verdict, sentence, why }: HandshakeCheck, idWidth: number): void {
    const mark = paint(PROMISE_COLOURS[verdict], verdict.padEnd(VERDICT_WIDTH));
    out(`  ${mark}  ${id.padEnd(idWidth)}  ${sentence}`);
    if (why !== null) out(`  ${' '.repeat(VERDICT_WIDTH + idWidth + 4)}${paint('dim', `why: ${why}`)}`);
  }

  return {
    begin: () => out(paint('bold', 'What Callboard needs and what it found:')),
    check: ({ name, verdict, found, advice }) => {
      const mark = paint(VERDICT_COLOURS[verdict], verdict.padEnd(VERDICT_WIDTH));
      out(`  ${mark}  ${name.padEnd(NAME_WIDTH)}  ${found}`);
      if (advice !== null) out(`  ${indent}${paint('bold', `do: ${advice}`)}`);
    },
    handshakeBegins: (version) => {
      out('');
      out(paint('bold', `What Callboard relies on, tried out with Claude Code ${version} on a scripted model:`));
    },
    handshake: ({ version, checks }, regression) => {
      const idWidth = Math.max(...checks.map(({ id }) => id.length));
      for (const check of checks) promise(check, idWidth);
      for (const lost of regression?.lost ?? []) {
        const said = `no longer ${lost.sentence}, as ${regression?.since} did; Callboard relies on this for ${lost.reliedOnFor}.`;
        out(paint('red', `  ${version} ${said}`));
      }
    },
    end: ({ checks, handshake }) => {
      const problems = checks.filter(({ verdict }) => verdict === 'problem').length;
      const warnings = checks.filter(({ verdict }) => verdict === 'warning').length;
      const of = (verdict: string) => handshake?.checks.filter((check) => check.verdict === verdict).length ?? 0;
      // A broken promise is a problem as well: one number counts both.
      const found = [count(problems + of('no'), 'problem'), count(warnings, 'warning')];
      const untried = of('untried');
      const rest = untried === 0 ? '' : `; ${untried} ${untried === 1 ? 'promise' : 'promises'} could not be tried`;
      out('');
      out(`Found ${found.join(' and ')}${rest}.`);
    },
  };
}

const count = (number: number, word: string) => `${number === 0 ? 'no' : number} ${word}${number === 1 ? '' : 's'}`;
