import { type PendingRequest, StageId, type StageView } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearchParams } from 'react-router';
import { boardQuery, stageOf, unsettledOf } from '../data/queries.ts';
import { UnsettledAnswers } from '../features/decisions/components/unsettled-answers.tsx';
import { RequestSection } from '../features/interaction/components/request-section.tsx';
import { askFor, turnToPage } from '../features/interaction/model/arming-store.ts';
import { inOrder } from '../features/interaction/model/overlay-queue.ts';
import { MessageBox } from '../features/messages/components/message-box.tsx';
import { AlarmBanner } from '../features/session/components/alarm-banner.tsx';
import { LeftoversPanel } from '../features/session/components/leftovers-panel.tsx';
import { LoginBanner } from '../features/session/components/login-banner.tsx';
import { SessionPanels } from '../features/session/components/session-panels.tsx';
import { StageDetails } from '../features/session/components/stage-details.tsx';
import { StageHead } from '../features/session/components/stage-head.tsx';
import { useStageKeys } from '../features/session/components/stage-keys.ts';
import { StagePhases } from '../features/session/components/stage-phases.tsx';
import { isStageTab, type StageTab, StageTabs } from '../features/session/components/stage-tabs.tsx';
import { NotStarted, TranscriptView } from '../features/session/components/transcript-view.tsx';
import { requestKey } from '../lib/request-text.ts';
import { useTopLayer } from '../ui/dialog-layers.ts';
import { lazyComponent } from '../ui/error-boundary.tsx';
import css from './frame.module.css';
import { NotFoundPage } from './pages.tsx';

const StageChanges = lazyComponent(() => import('../features/session/components/stage-changes.tsx'));

/** One stage: its transcript with its requests in place, and the message box below. */
export default function StagePage() {
  const { stageId: given } = useParams();
  const stageId = StageId.safeParse(given);
  return stageId.success ? <KnownStage key={stageId.data} stageId={stageId.data} /> : <NotFoundPage stageId={given} />;
}

function KnownStage({ stageId }: { stageId: StageId }) {
  const { data: stage } = useQuery({ ...boardQuery, select: stageOf(stageId) });
  const { data: pending = [] } = useQuery({
    ...boardQuery,
    select: (view) => inOrder(view.pending.filter((request) => request.stageId === stageId)),
  });
  const { data: unsettled = [] } = useQuery({ ...boardQuery, select: unsettledOf(stageId) });
  const [params] = useSearchParams();
  const wanted = params.get('tab');
  const tab = isStageTab(wanted) ? wanted : 'transcript';
  const navigate = useNavigate();
  useStageKeys({
    stageId,
    isCovered: useTopLayer() !== 'page',
    showTranscript: () => {
      if (tab !== 'transcript') void navigate(`/stages/${stageId}`);
    },
  });
  if (stage === undefined) return <NotFoundPage stageId={stageId} />;
  const look = () => {
    // The other tabs do not show the stage's requests.
    const [first] = pending;
    if (tab === 'transcript' || first === undefined) return void turnToPage();
    askFor(requestKey(first));
    void navigate(`/stages/${stageId}`);
  };
  return (
    <div className={css.page}>
      <StageHead stage={stage} pending={pending.length} unsettled={unsettled.length} look={look} />
      <AlarmBanner stage={stage} />
      <LoginBanner stage={stage} />
      <LeftoversPanel stage={stage} />
      <StageTabs stage={stage} current={tab} />
      <SessionPanels stage={stage} />
      <UnsettledAnswers decisions={unsettled} isWide />
      <TabContent tab={tab} stage={stage} pending={pending} />
      <MessageBox stageId={stageId} />
    </div>
  );
}

interface TabContentProps {
  tab: StageTab;
  stage: StageView;
  pending: readonly PendingRequest[];
}

function TabContent({ tab, stage, pending }: TabContentProps) {
  switch (tab) {
    case 'changes':
      return <StageChanges stage={stage} />;
    case 'phases':
      return <StagePhases stage={stage} />;
    case 'details':
      return <StageDetails stage={stage} />;
    case 'transcript':
      if (stage.session === null) return <NotStarted stage={stage} />;
      return <TranscriptView stage={stage} pending={pending} RequestSlot={RequestSection} />;
    default:
      return tab satisfies never;
  }
}
