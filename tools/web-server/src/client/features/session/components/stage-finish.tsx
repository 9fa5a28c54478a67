import { FinishWay, type StageView } from '@callboard/contract';
import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { boardQuery } from '../../../data/queries.ts';
import { useSetFinish } from '../../../data/stage-commands.ts';
import { FINISH_OPTIONS, FINISH_ORDER, FINISH_TEXTS, finishOfStage, projectFinish } from '../../../lib/finish-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import css from './stage-head.module.css';

/** What happens after the last phase, who decides that, and the stage's own choice. */
export function StageFinish({ stage }: { stage: StageView }) {
  const { data: project } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find(({ id }) => id === stage.projectId),
  });
  const set = useSetFinish(stage.title);
  const canCommand = useCanCommand();
  const chosen = set.isPending ? set.variables.finish : stage.finish;
  const ofProject = project === undefined ? 'none' : projectFinish(project).way;
  return (
    <div className={css.sandbox}>
      <p>{finishOfStage({ finish: chosen, pipeline: stage.pipeline }, project)}.</p>
      <NativeSelect
        size="xs"
        aria-label="At the end of this stage"
        data={[{ value: '', label: `As the project: ${FINISH_TEXTS[ofProject].toLowerCase()}` }, ...FINISH_OPTIONS]}
        value={chosen ?? ''}
        disabled={!canCommand || set.isPending}
        onChange={({ currentTarget: { value } }) =>
          set.mutate({ stageId: stage.id, finish: FinishWay.safeParse(value).data ?? null })
        }
      />
      <p className={css.phaseState}>{FINISH_ORDER}</p>
    </div>
  );
}
