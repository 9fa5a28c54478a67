import { z } from 'zod';
import { checkOf } from './checks.ts';
import { FinishWay } from './pull-requests.ts';
import { NewPhases, type Phase } from './stage-fields.ts';

/** Phases under a name, to choose for a new stage. */
export const ProjectPipeline = z.strictObject({
  phases: NewPhases.min(1, 'has no phases'),
  /** How its stages are finished. Left out: as the project says. */
  finish: FinishWay.optional(),
});
export type ProjectPipeline = z.infer<typeof ProjectPipeline>;

const MAX_PIPELINES = 50;

const isSameName = (one: string, other: string): boolean => one.trim().toLowerCase() === other.trim().toLowerCase();

/** The pipelines of a project by their names, which differ whatever their case. */
export const ProjectPipelines = z
  .record(
    z
      .string()
      .min(1, 'is empty')
      .max(100, 'is longer than 100 characters')
      .refine((name) => name.trim() === name, 'must not begin or end with a space'),
    ProjectPipeline,
  )
  .superRefine((pipelines, context) => {
    const names = Object.keys(pipelines);
    if (names.length > MAX_PIPELINES)
      context.addIssue({ code: 'custom', message: `has more than ${MAX_PIPELINES} pipelines` });
    for (const [index, name] of names.entries()) {
      const first = names.findIndex((other) => isSameName(other, name));
      if (first < index)
        context.addIssue({ code: 'custom', path: [name], message: `has the same name as "${names[first]}"` });
    }
  });
export type ProjectPipelines = z.infer<typeof ProjectPipelines>;

/** Where a pipeline comes from: `callboard.yaml`, the settings of the project, or Callboard itself. */
export type PipelineOrigin = 'file' | 'project' | 'built-in';

export interface NamedPipeline {
  name: string;
  /** What it is for, in a few words. */
  about: string;
  phases: Phase[];
  /** How its stages are finished; null: as the project says. */
  finish: FinishWay | null;
  origin: PipelineOrigin;
}

const phase = (name: string, prompt: string, gate: Phase['gate'] = 'none'): Phase => ({
  name,
  prompt,
  gate,
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
  builtIn('Just do it', 'The prompt alone', []),
  builtIn('Plan, build, verify', 'You accept the plan', [PLAN, BUILD, VERIFY]),
  builtIn('Design, build, review, finalize', 'You accept the design and the review', [DESIGN, BUILD, REVIEW, FINALIZE]),
  builtIn('Epic: design, build, refinement, finalize', 'You accept the design, the build and the refinement', [
    DESIGN,
    { ...BUILD, gate: 'human' },
    REFINEMENT,
    FINALIZE,
  ]),
];

function builtIn(name: string, about: string, phases: Phase[]): NamedPipeline {
  return { name, about, phases, finish: null, origin: 'built-in' };
}

/**
 * Returns the pipelines of a project: those of `callboard.yaml`, its own, the built-in ones. One of them stands in the place of all
 * of its name that come later.
 */
export function pipelinesOf({ file, own }: Record<'file' | 'own', ProjectPipelines>): NamedPipeline[] {
  const all = [...named(file, 'file'), ...named(own, 'project'), ...BUILT_IN_PIPELINES];
  return all.filter((one, index) => all.findIndex((other) => isSameName(other.name, one.name)) === index);
}

const named = (pipelines: ProjectPipelines, origin: PipelineOrigin): NamedPipeline[] =>
  Object.entries(pipelines).map(([name, { phases, finish }]) => ({
    name,
    phases,
    origin,
    about: '',
    finish: finish ?? null,
  }));

/** Returns the pipeline with this name, whatever its case; null if there is none. */
export const findPipeline = <T extends Pick<NamedPipeline, 'name'>>(pipelines: readonly T[], name: string): T | null =>
  pipelines.find((one) => isSameName(one.name, name)) ?? null;

/** Returns the commands that a pipeline runs, with the phase that each belongs to. */
export const commandsOf = ({ phases }: Pick<ProjectPipeline, 'phases'>): { name: string; command: string }[] =>
  phases.flatMap(({ name, gate }) => {
    const check = checkOf(gate);
    return check === null ? [] : [{ name, command: check.command }];
  });
