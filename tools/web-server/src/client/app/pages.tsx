import type { ProjectId } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { Link } from 'react-router';
import { Board } from '../features/board/components/board.tsx';
import { UnsettledAnswers } from '../features/decisions/components/unsettled-answers.tsx';
import { CardRequest } from '../features/interaction/components/card-request.tsx';
import { Inbox } from '../features/interaction/components/inbox.tsx';
import { boardQuery } from '../live/queries.ts';
import css from './frame.module.css';

const RulesOf = lazy(() => import('../features/interaction/components/rules-of.tsx'));
const DecisionLog = lazy(() => import('../features/decisions/components/decision-log.tsx'));
const SessionsTable = lazy(() => import('../features/board/components/sessions-table.tsx'));
const StagePageContent = lazy(() => import('./stage-page.tsx'));

const Rules = ({ projectId }: { projectId: ProjectId }) => (
  <Suspense fallback={null}>
    <RulesOf projectId={projectId} />
  </Suspense>
);

export const BoardPage = () => <Board RequestSlot={CardRequest} RulesSlot={Rules} />;

export function InboxPage() {
  const { data: unsettled = [] } = useQuery({ ...boardQuery, select: (view) => view.unsettled });
  return <Inbox others={<UnsettledAnswers decisions={unsettled} />} hasOthers={unsettled.length > 0} />;
}

export const DecisionsPage = () => (
  <Suspense fallback={null}>
    <DecisionLog />
  </Suspense>
);

export const SessionsPage = () => (
  <Suspense fallback={null}>
    <SessionsTable />
  </Suspense>
);

export const StagePage = () => (
  <Suspense fallback={null}>
    <StagePageContent />
  </Suspense>
);

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
