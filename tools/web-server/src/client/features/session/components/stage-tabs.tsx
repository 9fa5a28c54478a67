import type { StageId } from '@callboard/contract';
import { Link } from 'react-router';
import css from './stage-head.module.css';

const STAGE_TABS = { transcript: 'Transcript', details: 'Details' } as const;
export type StageTab = keyof typeof STAGE_TABS;

export const isStageTab = (name: string | null): name is StageTab => name !== null && Object.hasOwn(STAGE_TABS, name);

/** The views of a stage; which one is open is kept in the address. */
export function StageTabs({ stageId, current }: { stageId: StageId; current: StageTab }) {
  return (
    <nav className={css.tabs} aria-label="Stage">
      {Object.entries(STAGE_TABS).map(([tab, title]) => (
        <Link
          key={tab}
          className={css.tab}
          to={tab === 'transcript' ? `/stages/${stageId}` : `/stages/${stageId}?tab=${tab}`}
          aria-current={tab === current ? 'page' : undefined}
          replace
        >
          {title}
        </Link>
      ))}
    </nav>
  );
}
