import { checkOf, type StageView } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { stageDiffQuery, useReloadDiff } from '../api/stage-diff.ts';
import { useSidePane } from '../model/side-pane.ts';
import css from './stage-head.module.css';
import { TranscriptTools } from './transcript-tools.tsx';

const STAGE_TABS = {
  transcript: 'Transcript',
  changes: 'Changes',
  checks: 'Checks',
  phases: 'Phases',
  details: 'Details',
} as const;
export type StageTab = keyof typeof STAGE_TABS;
const TABS: readonly StageTab[] = ['transcript', 'changes', 'checks', 'phases', 'details'];

/** Whether a stage has something in this tab. */
export function hasTab(tab: StageTab, { pipeline }: Pick<StageView, 'pipeline'>): boolean {
  if (tab === 'checks') return pipeline.some(({ gate }) => checkOf(gate) !== null);
  return tab !== 'phases' || pipeline.length > 0;
}

export const isStageTab = (name: string | null): name is StageTab => name !== null && Object.hasOwn(STAGE_TABS, name);

/** The stage's tabs (the URL says which is open), and the switches of its session. */
export function StageTabs({ stage, current }: { stage: StageView; current: StageTab }) {
  const { show } = useSidePane.getState();
  const reload = useReloadDiff(stage.id);
  return (
    <div className={css.bar}>
      <nav className={css.tabs} aria-label="Stage">
        {TABS.filter((tab) => hasTab(tab, stage)).map((tab) => (
          <Link
            key={tab}
            className={css.tab}
            to={tab === 'transcript' ? `/stages/${stage.id}` : `/stages/${stage.id}?tab=${tab}`}
            aria-current={tab === current ? 'page' : undefined}
            replace
            onClick={() => {
              show(tab === 'transcript' ? null : tab);
              // Nothing tells that somebody else edited a file.
              if (tab === 'changes') reload();
            }}
          >
            {STAGE_TABS[tab]}
            {tab === 'changes' && <ChangeCount stage={stage} isViewed={tab === current} />}
          </Link>
        ))}
      </nav>
      {stage.session !== null && <TranscriptTools stage={stage} />}
    </div>
  );
}

/** The number of changed files: the current one while they are on screen, else that of the end of the last turn. */
function ChangeCount({ stage, isViewed }: { stage: StageView; isViewed: boolean }) {
  const { data } = useQuery({ ...stageDiffQuery(stage.id), enabled: false });
  const counted = stage.session?.changes?.files;
  const seen = data?.files.length;
  const files = isViewed ? (seen ?? counted) : (counted ?? seen);
  return files === undefined || files === 0 ? null : <span className={css.count}> {files}</span>;
}
