import { checkOf, type PendingRequest, StageId, type StageView } from '@callboard/contract';
import { Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type PointerEvent, type ReactNode, type UIEvent, useRef, useState } from 'react';
import { Link, useNavigate, useParams, useSearchParams } from 'react-router';
import { boardQuery, stageOf, unsettledOf } from '../data/queries.ts';
import { useSidePane } from '../data/side-pane.ts';
import { stageDiffQuery, useReloadDiff } from '../data/stage-diff.ts';
import { askFor, turnToPage } from '../features/approvals/arming.ts';
import { inOrder } from '../features/approvals/presentation.tsx';
import { RequestSection } from '../features/approvals/request-section.tsx';
import { BudgetBanner } from '../features/budgets/budgets.tsx';
import { CheckActions } from '../features/checks/check-actions.tsx';
import { UnsettledAnswers } from '../features/decisions/unsettled-answers.tsx';
import { AlarmBanner, LeftoversPanel, LoginBanner, TerminalBanner } from '../features/details/banners.tsx';
import { SessionPanels } from '../features/details/session-panels.tsx';
import { SessionSwitches, StageDetails } from '../features/details/stage-details.tsx';
import { StageHead } from '../features/details/stage-head.tsx';
import { FinishSection } from '../features/finish/finish-panel.tsx';
import { LimitBanner } from '../features/limits/limits.tsx';
import { MessageBox } from '../features/messages/message-box.tsx';
import { PauseBanner } from '../features/pauses/pauses-dialog.tsx';
import { TranscriptTools, useStageKeys } from '../features/transcript/transcript-find.tsx';
import { NotStarted, TranscriptView } from '../features/transcript/transcript-view.tsx';
import { SetUpPanel, WorktreeRows } from '../features/worktrees/worktree-commands.tsx';
import { requestKey } from '../lib/format.ts';
import { lazyComponent } from '../ui/error-boundary.tsx';
import { FullPage } from '../ui/primitives.tsx';
import { useShortcuts, useTopLayer } from '../ui/shortcuts.tsx';
import stageHeadStyles from '../ui/stage-head.module.css';
import { TWO_PANES } from './frame-store.ts';
import { NotFoundPage } from './pages.tsx';
import stagePanesStyles from './stage-panes.module.css';

const ChecksPane = lazyComponent(() => import('../features/checks/checks-pane.tsx'));
const PhasesPane = lazyComponent(() => import('../features/checks/phases-pane.tsx'));
const StageChanges = lazyComponent(() => import('../features/changes/stage-changes.tsx'));

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
  const files = useChangedFiles(stageId, stage?.session?.changes?.files);
  // The transcript has the page to itself until there is something to see beside it.
  const isEmpty = saved === 'changes' && files === 0;
  const beside = saved !== null && stage !== undefined && (isEmpty || !hasTab(saved, stage)) ? null : saved;
  const tab = isWide && asked === 'transcript' ? (beside ?? asked) : asked;
  // Not before they are drawn: the bar below them comes with them.
  const drawnFiles = useChangedFiles(stageId, undefined);
  const readsDiff = !hasChips && tab === 'changes';
  const { isReading, onScroll } = useReading(readsDiff);
  const navigate = useNavigate();
  const isCovered = useTopLayer() !== 'page';
  useStageKeys({
    stageId,
    isCovered,
    showTranscript: () => {
      if (!isWide && tab !== 'transcript') void navigate(`/stages/${stageId}`);
    },
  });
  // A question takes the digits for its options.
  const asksByDigit = pending.some(({ kind }) => kind === 'question');
  const { show } = useSidePane.getState();
  const byDigit = TABS.filter((one) => stage !== undefined && hasTab(one, stage)).map((one, index) => [
    String(index + 1),
    () => {
      if (isCovered || asksByDigit) return false;
      show(one === 'transcript' ? null : one);
      void navigate(tabPath(stageId, one), { replace: true });
    },
  ]);
  useShortcuts(Object.fromEntries(byDigit));
  if (stage === undefined) return <NotFoundPage stageId={stageId} />;
  const check = () => {
    // The other tabs do not show the stage's requests.
    const [first] = pending;
    if (isWide || tab === 'transcript' || first === undefined) return void turnToPage();
    askFor(requestKey(first));
    void navigate(`/stages/${stageId}`);
  };
  return (
    <FullPage data-reading={isReading || undefined} onScrollCapture={onScroll}>
      <StageHead
        stage={stage}
        pending={pending.length}
        unsettled={unsettled.length}
        check={check}
        CheckSlot={CheckActions}
        hasFinishBar={tab === 'changes' && drawnFiles > 0}
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
            {!readsDiff && (
              <MessageBox
                stageId={stageId}
                chips={
                  hasChips &&
                  stage.session !== null &&
                  tab !== 'details' && <SessionSwitches stage={stage} session={stage.session} />
                }
              />
            )}
          </>
        }
        side={isWide && tab !== 'transcript' ? <TabContent tab={tab} stage={stage} pending={pending} isPane /> : null}
      />
    </FullPage>
  );
}

/** From where on the head gives way to what is read, and from where on it is back: further apart than the head is high. */
const READING_PX = { from: 160, until: 24 };

/** Whether a person has scrolled into what they read. */
function useReading(isOn: boolean) {
  const [isReading, setReading] = useState(false);
  const onScroll = ({ target }: UIEvent) => {
    if (!(target instanceof Element)) return;
    if (target.scrollTop > READING_PX.from) setReading(true);
    else if (target.scrollTop < READING_PX.until) setReading(false);
  };
  return { isReading: isOn && isReading, onScroll };
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

interface StagePanesProps {
  /** The transcript, with the message box below. */
  main: ReactNode;
  /** What stands beside it; null if nothing does. */
  side: ReactNode | null;
}

const STEP = 2;

/** The transcript, and beside it what is looked at meanwhile. The border between them moves, and stays there. */
export function StagePanes({ main, side }: StagePanesProps) {
  const share = useSidePane((state) => state.share);
  const box = useRef<HTMLDivElement>(null);
  const { divide } = useSidePane.getState();
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowLeft') divide(share - STEP);
    else if (event.key === 'ArrowRight') divide(share + STEP);
    else return;
    event.preventDefault();
  };
  const onPointerMove = (event: PointerEvent) => {
    const bounds = box.current?.getBoundingClientRect();
    if (bounds === undefined || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
    divide(((event.clientX - bounds.left) / bounds.width) * 100);
  };
  return (
    <div className={stagePanesStyles.panes} ref={box}>
      <div className={stagePanesStyles.main} style={side === null ? undefined : { flexBasis: `${share}%` }}>
        {main}
      </div>
      {side !== null && (
        <>
          {/* biome-ignore lint/a11y/useSemanticElements: a rule cannot be moved */}
          <div
            role="separator"
            aria-label="Width of the transcript"
            aria-orientation="vertical"
            aria-valuenow={Math.round(share)}
            tabIndex={0}
            className={stagePanesStyles.border}
            onKeyDown={onKeyDown}
            onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
            onPointerMove={onPointerMove}
          />
          <div className={stagePanesStyles.side}>{side}</div>
        </>
      )}
    </div>
  );
}

const STAGE_TABS = {
  transcript: 'Transcript',
  changes: 'Changes',
  checks: 'Checks',
  phases: 'Phases',
  details: 'Details',
} as const;
export type StageTab = keyof typeof STAGE_TABS;
const TABS: readonly StageTab[] = ['transcript', 'changes', 'checks', 'phases', 'details'];

const tabPath = (stageId: StageId, tab: StageTab) => `/stages/${stageId}${tab === 'transcript' ? '' : `?tab=${tab}`}`;

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
    <div className={stageHeadStyles.bar}>
      <nav className={stageHeadStyles.tabs} aria-label="Stage">
        {TABS.filter((tab) => hasTab(tab, stage)).map((tab) => (
          <Link
            key={tab}
            className={stageHeadStyles.tab}
            to={tabPath(stage.id, tab)}
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

/** @param counted the number of changed files at the end of the last turn, which counts unless they are on screen */
function useChangedFiles(stageId: StageId, counted: number | undefined, isViewed = false): number {
  const { data } = useQuery({ ...stageDiffQuery(stageId), enabled: false });
  const seen = data?.files.length;
  return (isViewed ? (seen ?? counted) : (counted ?? seen)) ?? 0;
}

/** The number of changed files. */
function ChangeCount({ stage, isViewed }: { stage: StageView; isViewed: boolean }) {
  const files = useChangedFiles(stage.id, stage.session?.changes?.files, isViewed);
  return files === 0 ? null : (
    <Text span inherit fw={400} c="dimmed">
      {' '}
      {files}
    </Text>
  );
}
