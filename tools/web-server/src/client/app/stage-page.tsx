import { StageId } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useParams, useSearchParams } from 'react-router';
import { RequestSection } from '../features/interaction/components/request-section.tsx';
import { inOrder } from '../features/interaction/model/overlay-queue.ts';
import { MessageBox } from '../features/messages/components/message-box.tsx';
import { NotStarted } from '../features/session/components/not-started.tsx';
import { StageDetails } from '../features/session/components/stage-details.tsx';
import { StageHead } from '../features/session/components/stage-head.tsx';
import { isStageTab, StageTabs } from '../features/session/components/stage-tabs.tsx';
import { TranscriptView } from '../features/session/components/transcript-view.tsx';
import { boardQuery, stageOf } from '../live/queries.ts';
import css from './frame.module.css';
import { NotFoundPage } from './pages.tsx';

/** One stage: its transcript with its requests in their places, and the message box beneath. */
export default function StagePage() {
  const stageId = StageId.safeParse(useParams().stageId);
  return stageId.success ? <KnownStage key={stageId.data} stageId={stageId.data} /> : <NotFoundPage />;
}

function KnownStage({ stageId }: { stageId: StageId }) {
  const { data: stage } = useQuery({ ...boardQuery, select: stageOf(stageId) });
  const { data: pending = [] } = useQuery({
    ...boardQuery,
    select: (view) => inOrder(view.pending.filter((request) => request.stageId === stageId)),
  });
  const [params] = useSearchParams();
  const wanted = params.get('tab');
  const tab = isStageTab(wanted) ? wanted : 'transcript';
  if (stage === undefined) return <NotFoundPage />;
  return (
    <div className={css.page}>
      <StageHead stage={stage} pending={pending.length} />
      <StageTabs stageId={stageId} current={tab} />
      {tab === 'details' && <StageDetails stage={stage} />}
      {tab === 'transcript' && stage.session === null && <NotStarted stage={stage} />}
      {tab === 'transcript' && stage.session !== null && (
        <TranscriptView stage={stage} pending={pending} RequestSlot={RequestSection} />
      )}
      <MessageBox stageId={stageId} />
    </div>
  );
}
