import type { StageView } from '@callboard/contract';
import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { boardQuery } from '../../../data/queries.ts';
import { useSetResumes } from '../../../data/stage-commands.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import css from './stage-head.module.css';

const LABELS = { yes: 'Continue automatically', no: 'Wait for a person' } as const;

/** What the stage does after a usage limit. */
export function StageAtLimit({ stage }: { stage: StageView }) {
  const { data: resumes = true } = useQuery({ ...boardQuery, select: (view) => view.limits.settings.goesOnAtReset });
  const set = useSetResumes(stage.title);
  const canCommand = useCanCommand();
  const chosen = set.isPending ? set.variables.goesOnAtReset : stage.goesOnAtReset;
  return (
    <div className={css.sandbox}>
      <NativeSelect
        size="xs"
        aria-label="At a usage limit"
        data={[
          { value: '', label: `As the board: ${LABELS[resumes ? 'yes' : 'no'].toLowerCase()}` },
          { value: 'yes', label: LABELS.yes },
          { value: 'no', label: LABELS.no },
        ]}
        value={chosen === null ? '' : chosen ? 'yes' : 'no'}
        disabled={!canCommand || set.isPending}
        onChange={({ currentTarget: { value } }) =>
          set.mutate({ stageId: stage.id, goesOnAtReset: value === '' ? null : value === 'yes' })
        }
      />
    </div>
  );
}
