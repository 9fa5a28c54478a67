import { type PendingRequest, StageId, type StageView } from '@callboard/contract';
import { useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearchParams } from 'react-router';
import { boardQuery, stageOf, unsettledOf } from '../data/queries.ts';
import { CheckActions } from '../features/checks/components/check-actions.tsx';
import { UnsettledAnswers } from '../features/decisions/components/unsettled-answers.tsx';
import { RequestSection } from '../features/interaction/components/request-section.tsx';
import { askFor, turnToPage } from '../features/interaction/model/arming-store.ts';
import { inOrder } from '../features/interaction/model/overlay-queue.ts';
import { MessageBox } from '../features/messages/components/message-box.tsx';
import { AlarmBanner } from '../features/session/components/alarm-banner.tsx';
import { BudgetBanner } from '../features/session/components/budget-banner.tsx';
import { FinishSection } from '../features/session/components/finish-panel.tsx';
import { PauseBanner } from '../features/session/components/hold-banner.tsx';
import { LeftoversPanel } from '../features/session/components/leftovers-panel.tsx';
import { LimitBanner } from '../features/session/components/limit-banner.tsx';
import { LoginBanner } from '../features/session/components/login-banner.tsx';
import { SessionPanels } from '../features/session/components/session-panels.tsx';
import { SessionSwitches } from '../features/session/components/session-switches.tsx';
import { StageDetails } from '../features/session/components/stage-details.tsx';
import { StageHead } from '../features/session/components/stage-head.tsx';
import { useStageKeys } from '../features/session/components/stage-keys.ts';
import { StagePanes } from '../features/session/components/stage-panes.tsx';
import { hasTab, isStageTab, type StageTab, StageTabs } from '../features/session/components/stage-tabs.tsx';
import { TerminalBanner } from '../features/session/components/terminal-banner.tsx';
import { NotStarted, TranscriptView } from '../features/session/components/transcript-view.tsx';
import { useSidePane } from '../features/session/model/side-pane.ts';
import { SetUpPanel } from '../features/workspace/components/set-up-panel.tsx';
import { WorktreeRows } from '../features/workspace/components/worktree-rows.tsx';
import { requestKey } from '../lib/request-text.ts';
import { useTopLayer } from '../ui/dialog-layers.ts';
import { lazyComponent } from '../ui/error-boundary.tsx';
import css from './frame.module.css';
import { NotFoundPage } from './pages.tsx';
import { TWO_PANES } from './two-panes.ts';

const ChecksPane = lazyComponent(() => import('../features/checks/components/checks-pane.tsx'));
const PhasesPane = lazyComponent(() => import('../features/checks/components/phases-pane.tsx'));
const StageChanges = lazyComponent(() => import('../features/session/components/stage-changes.tsx'));

/** One stage: its transcript with its requests in place, and the message box below. */
export default function StagePage() {
  const { stageId: given } = useParams();
  const stageId = StageId.safeParse(given);
  return stageId.success ? (
    <ExistingStage key={stageId.data} stageId={stageId.data} />
  ) : (
    <NotFoundPage stageId={given} />
  );
}

function ExistingStage({ stageId }: { stageId: StageId }) {
  const { data: stage } = useQuery({ ...boardQuery, select: stageOf(stageId) });
  const { data: pending = [] } = useQuery({
    ...boardQuery,
    select: (view) => inOrder(view.pending.filter((request) => request.stageId === stageId)),
  });
  const { data: unsettled = [] } = useQuery({ ...boardQuery, select: unsettledOf(stageId) });
  const [params] = useSearchParams();
  const wanted = params.get('tab');
  const isWide = useMediaQuery(TWO_PANES, false, { getInitialValueInEffect: false });
  // On a phone they are among the details.
  const hasChips = useMediaQuery('(min-width: 768px)', true, { getInitialValueInEffect: false });
  const saved = useSidePane((state) => state.tab);
  const asked = isStageTab(wanted) ? wanted : 'transcript';
  const beside = saved !== null && stage !== undefined && !hasTab(saved, stage) ? null : saved;
  const tab = isWide && asked === 'transcript' ? (beside ?? asked) : asked;
  const navigate = useNavigate();
  useStageKeys({
    stageId,
    isCovered: useTopLayer() !== 'page',
    showTranscript: () => {
      if (!isWide && tab !== 'transcript') void navigate(`/stages/${stageId}`);
    },
  });
  if (stage === undefined) return <NotFoundPage stageId={stageId} />;
  const check = () => {
    // The other tabs do not show the stage's requests.
    const [first] = pending;
    if (isWide || tab === 'transcript' || first === undefined) return void turnToPage();
    askFor(requestKey(first));
    void navigate(`/stages/${stageId}`);
  };
  return (
    <div className={css.page}>
      <StageHead
        stage={stage}
        pending={pending.length}
        unsettled={unsettled.length}
        check={check}
        CheckSlot={CheckActions}
      />
      <AlarmBanner stage={stage} />
      <TerminalBanner stage={stage} />
      <LoginBanner stage={stage} />
      <LimitBanner stage={stage} />
      <PauseBanner stage={stage} />
      <BudgetBanner stage={stage} />
      <SetUpPanel stage={stage} />
      <LeftoversPanel stage={stage} />
      <StageTabs stage={stage} current={tab} />
      <SessionPanels stage={stage} />
      <UnsettledAnswers decisions={unsettled} isWide />
      <StagePanes
        main={
          <>
            <TabContent tab={isWide ? 'transcript' : tab} stage={stage} pending={pending} />
            <MessageBox
              stageId={stageId}
              chips={
                hasChips &&
                stage.session !== null &&
                tab !== 'details' && <SessionSwitches stage={stage} session={stage.session} />
              }
            />
          </>
        }
        side={isWide && tab !== 'transcript' ? <TabContent tab={tab} stage={stage} pending={pending} isPane /> : null}
      />
    </div>
  );
}

interface TabContentProps {
  tab: StageTab;
  stage: StageView;
  pending: readonly PendingRequest[];
  isPane?: boolean;
}

function TabContent({ tab, stage, pending, isPane = false }: TabContentProps) {
  switch (tab) {
    case 'changes':
      return <StageChanges stage={stage} isPane={isPane} EndSlot={FinishSection} />;
    case 'phases':
      return <PhasesPane stage={stage} />;
    case 'checks':
      return <ChecksPane stage={stage} />;
    case 'details':
      return <StageDetails stage={stage} RowsSlot={WorktreeRows} />;
    case 'transcript':
      if (stage.session === null) return <NotStarted stage={stage} />;
      return <TranscriptView stage={stage} pending={pending} RequestSlot={RequestSection} />;
    default:
      return tab satisfies never;
  }
}
