import type { StageView } from '@callboard/contract';
import { useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { stageDiffQuery } from '../api/stage-diff.ts';
import { SessionSwitches } from './session-switches.tsx';
import css from './stage-head.module.css';

const STAGE_TABS = { transcript: 'Transcript', changes: 'Changes', phases: 'Phases', details: 'Details' } as const;
export type StageTab = keyof typeof STAGE_TABS;

export const isStageTab = (name: string | null): name is StageTab => name !== null && Object.hasOwn(STAGE_TABS, name);

/** The stage's tabs (the URL says which is open), and the switches of its session. */
export function StageTabs({ stage, current }: { stage: StageView; current: StageTab }) {
  const hasRoom = useMediaQuery('(min-width: 768px)') ?? true;
  return (
    <div className={css.bar}>
      <nav className={css.tabs} aria-label="Stage">
        {Object.entries(STAGE_TABS)
          .filter(([tab]) => tab !== 'phases' || stage.pipeline.length > 0)
          .map(([tab, title]) => (
            <Link
              key={tab}
              className={css.tab}
              to={tab === 'transcript' ? `/stages/${stage.id}` : `/stages/${stage.id}?tab=${tab}`}
              aria-current={tab === current ? 'page' : undefined}
              replace
            >
              {title}
              {tab === 'changes' && <ChangeCount stage={stage} isLookedAt={tab === current} />}
            </Link>
          ))}
      </nav>
      {hasRoom && current !== 'details' && stage.session !== null && (
        <SessionSwitches stage={stage} session={stage.session} />
      )}
    </div>
  );
}

/** The number of changed files: the current one while they are on screen, else that of the end of the last turn. */
function ChangeCount({ stage, isLookedAt }: { stage: StageView; isLookedAt: boolean }) {
  const { data } = useQuery({ ...stageDiffQuery(stage.id), enabled: false });
  const counted = stage.session?.changes?.files;
  const seen = data?.files.length;
  const files = isLookedAt ? (seen ?? counted) : (counted ?? seen);
  return files === undefined || files === 0 ? null : <span className={css.count}> {files}</span>;
}
