import { z } from 'zod';
import { checkOf } from './checks.ts';
import { NewPhase, type Phase } from './stages.ts';

/** Phases under a name, to choose for a new stage. */
export const ProjectPipeline = z.strictObject({
  phases: z.array(NewPhase).min(1, 'has no phases').max(20, 'has more than 20 phases'),
});
export type ProjectPipeline = z.infer<typeof ProjectPipeline>;

export interface NamedPipeline {
  name: string;
  /** What it is for, in a few words. */
  about: string;
  phases: Phase[];
}

const phase = (name: string, prompt: string, gate: Phase['gate'] = 'none'): Phase => ({
  ...{ name, prompt, gate },
  conversation: 'same',
});

const PLAN = phase(
  'Plan',
  '{{stage.prompt}}\n\nDo not change any files yet. Look at what is there, and write a plan: what you will change, in which files, in which order, and how it will be tested. End with the questions that are open.',
  'human',
);
const DESIGN = phase(
  'Design',
  '{{stage.prompt}}\n\nDo not build it yet. Design it: the parts and what each is for, the data and the interfaces between them, what was considered and rejected, and how it will be tested.',
  'human',
);
const BUILD = phase(
  'Build',
  'Go ahead and build it as agreed, with its tests. Where you have to leave the plan, say so and why.',
);
const VERIFY = phase(
  'Verify',
  'Check your own work as somebody would who did not write it: run the tests and the linter, try what was asked for, and look for what is missing. Mend what you find, and end with what you checked and how.',
);
const REVIEW = phase(
  'Review',
  'Review all changes of this branch as a strict colleague would: faults, missing tests, unclear names, needless code. Mend what you find, and list what you leave as it is and why.',
  'human',
);
const REFINEMENT = phase(
  'Refinement',
  'Refine the work: mend faults and gaps that you find in it, simplify what is needlessly complicated, and see that the tests cover what was asked for.',
  'human',
);
const FINALIZE = phase(
  'Finalize',
  'Bring it to its end: bring documentation and change log up to date, remove what is left over, run all tests, and commit the work with clear messages.',
);

/** The pipelines that every project has. */
export const BUILT_IN_PIPELINES: readonly NamedPipeline[] = [
  { name: 'Just do it', about: 'The prompt alone', phases: [] },
  { name: 'Plan, build, verify', about: 'You accept the plan', phases: [PLAN, BUILD, VERIFY] },
  {
    name: 'Design, build, review, finalize',
    about: 'You accept the design and the review',
    phases: [DESIGN, BUILD, REVIEW, FINALIZE],
  },
  {
    name: 'Epic: design, build, refinement, finalize',
    about: 'You accept the design, the build and the refinement',
    phases: [DESIGN, { ...BUILD, gate: 'human' }, REFINEMENT, FINALIZE],
  },
];

/** Returns the pipelines of a project: its own first. One of its own stands in the place of a built-in one of its name. */
export function pipelinesOf(own: Readonly<Record<string, ProjectPipeline>>): NamedPipeline[] {
  const mine = Object.entries(own).map(([name, { phases }]) => ({ name, about: '', phases }));
  return [...mine, ...BUILT_IN_PIPELINES.filter(({ name }) => !mine.some((other) => isSameName(other.name, name)))];
}

/** Returns the pipeline with this name, whatever its case; null if there is none. */
export const findPipeline = (pipelines: readonly NamedPipeline[], name: string): NamedPipeline | null =>
  pipelines.find((one) => isSameName(one.name, name)) ?? null;

const isSameName = (one: string, other: string): boolean => one.trim().toLowerCase() === other.trim().toLowerCase();

/** Returns the commands that a pipeline runs, with the phase that each belongs to. */
export const commandsOf = ({ phases }: Pick<ProjectPipeline, 'phases'>): { name: string; command: string }[] =>
  phases.flatMap(({ name, gate }) => {
    const check = checkOf(gate);
    return check === null ? [] : [{ name, command: check.command }];
  });
