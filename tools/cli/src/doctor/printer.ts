import { styleText } from 'node:util';
import type { HandshakeCheck, HandshakeReport, Regression } from '@callboard/orchestrator/doctor';
import type { Platform } from '../edges.ts';
import type { DoctorReport, MachineCheck } from './report.ts';

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

export function createPrinter({ out, env, isTerminal }: Pick<Platform, 'out' | 'env' | 'isTerminal'>): Printer {
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
