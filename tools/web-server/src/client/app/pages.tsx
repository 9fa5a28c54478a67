import type { ProjectId } from '@callboard/contract';
import { Link } from 'react-router';
import { Board } from '../features/board/components/board.tsx';
import { CardRequest } from '../features/interaction/components/card-request.tsx';
import { onDemand } from '../lib/on-demand.ts';
import { Part } from '../ui/part.tsx';
import css from './frame.module.css';

const RulesOf = onDemand(() => import('../features/interaction/components/rules-of.tsx'));
const DecisionLog = onDemand(() => import('../features/decisions/components/decision-log.tsx'));
const SessionsTable = onDemand(() => import('../features/board/components/sessions-table.tsx'));
const InboxPageContent = onDemand(() => import('./inbox-page.tsx'));
const Trash = onDemand(() => import('../features/trash/components/trash-page.tsx'));
const StagePageContent = onDemand(() => import('./stage-page.tsx'));

const Rules = ({ projectId }: { projectId: ProjectId }) => (
  <Part name="The rules">
    <RulesOf projectId={projectId} />
  </Part>
);

export const BoardPage = () => <Board RequestSlot={CardRequest} RulesSlot={Rules} />;

export const InboxPage = InboxPageContent;
export const DecisionsPage = DecisionLog;
export const SessionsPage = SessionsTable;
export const TrashPage = Trash;
export const StagePage = StagePageContent;

/** `stageId`: as the address has it, where it is that of a stage. */
export function NotFoundPage({ stageId }: { stageId?: string | undefined }) {
  return (
    <div className={css.center}>
      <h1>{stageId === undefined ? 'There is nothing here' : `There is no stage ${stageId}`}</h1>
      <p>
        {stageId === undefined ? 'There is no such page.' : 'It was deleted, or there never was one of that name.'}{' '}
        <Link to="/">Go to the board</Link>
      </p>
    </div>
  );
}
