import { type Risk, RiskCode } from '@callboard/contract';

/** One effect that was found: "Deletes" and "dist". */
export interface Finding {
  code: RiskCode;
  /** The beginning of the sentence, without its full stop. */
  lead: string;
  /** What it is done to; the subjects of findings with the same lead share one sentence. */
  subject?: string | undefined;
  /** The part of the command it was found in. */
  command: string | null;
}

const MAX_SUBJECTS = 3;
const MAX_SUBJECT_LENGTH = 60;
const MAX_COMMAND_LENGTH = 200;

export const UNKNOWN = { code: 'unknown', lead: 'Runs code: effects unknown' } as const;

/** Merges findings into sentences, the gravest first. */
export function risksFrom(findings: readonly Finding[]): Risk[] {
  const groups = Map.groupBy(findings, ({ code, lead }) => `${code} ${lead}`);
  const risks = [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : [{ code: first.code, text: sentence(first.lead, group), command: shown(first) }];
  });
  return risks.toSorted((a, b) => RiskCode.options.indexOf(a.code) - RiskCode.options.indexOf(b.code));
}

function sentence(lead: string, group: readonly Finding[]): string {
  const subjects = [...new Set(group.flatMap(({ subject }) => (subject === undefined ? [] : [short(subject)])))];
  if (subjects.length === 0) return `${lead}.`;
  const more = subjects.length - MAX_SUBJECTS;
  const named = subjects.slice(0, MAX_SUBJECTS).join(', ');
  return `${lead} ${named}${more > 0 ? ` and ${more} more` : ''}.`;
}

const short = (subject: string) => oneLine(subject, MAX_SUBJECT_LENGTH);
const shown = ({ command }: Finding) => (command === null ? null : oneLine(command, MAX_COMMAND_LENGTH));

/** The first line that has text, cut at its end. */
function oneLine(text: string, longest: number): string {
  const [line = '', ...more] = text.trim().split('\n');
  const isCut = line.length > longest || more.length > 0;
  return isCut ? `${line.slice(0, longest - 1)}…` : line;
}
