import type { StageId } from '@callboard/contract';
import { Box, Button, Flex, Loader } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { matchPath, Outlet, useLocation, useNavigate } from 'react-router';
import {
  budgetsDialog,
  completeDialog,
  crashDialog,
  type DialogStore,
  deleteDialog,
  helpDialog,
  limitsDialog,
  loginsDialog,
  momentDialog,
  paletteDialog,
  pausesDialog,
  renameDialog,
  terminalDialog,
} from '../data/dialogs.ts';
import { boardQuery } from '../data/queries.ts';
import { type StageActionId, stageActions } from '../data/stage-actions.tsx';
import { followTour } from '../data/tour.ts';
import { followPerson } from '../features/approvals/arming.ts';
import { saveDraftsOnLeave } from '../features/approvals/request-drafts.ts';
import { useNewLoginNotices } from '../features/logins/new-logins.tsx';
import { useOfferText } from '../features/messages/message-draft.ts';
import { NOT_FOUND, useAlerts, useTabTitle } from '../features/notifications/alerts.ts';
import { errorText, isTransient } from '../lib/api-client.ts';
import { useWorker } from '../lib/register-worker.ts';
import { useCanCommand, useStreamState } from '../stream/stream-context.tsx';
import { ErrorBoundary, lazyComponent } from '../ui/error-boundary.tsx';
import { BrandMark } from '../ui/marks.tsx';
import { CopyLine } from '../ui/notes.tsx';
import { type Layer, useCoversPage, useShortcuts, useTopLayer } from '../ui/shortcuts.tsx';
import css from './frame.module.css';
import { stageAtHand, TWO_PANES, useOpenNewStage } from './frame-store.ts';
import { absenceText, Header } from './header.tsx';
import { PAGES } from './pages.tsx';

// Loaded once the board is there, which waits for nothing that it does not show.
const RequestOverlay = lazyComponent(() => import('../features/approvals/request-overlay.tsx'));
const CompleteDialog = lazyComponent(() => import('../features/finish/finish-panel.tsx'));
const DeleteDialog = lazyComponent(() => import('../features/trash/delete-dialog.tsx'));
const RenameDialog = lazyComponent(() => import('../features/stages/rename-dialog.tsx'));
const TerminalDialog = lazyComponent(() => import('../features/details/terminal-dialog.tsx'));
const MomentDialog = lazyComponent(() => import('../features/rewind/rewind-dialog.tsx'));
const Palette = lazyComponent(() => import('./palette.tsx'));
const LoginsDialog = lazyComponent(() => import('../features/logins/logins-dialog.tsx'));
const BudgetsDialog = lazyComponent(() => import('../features/budgets/budgets.tsx'));
const PausesDialog = lazyComponent(() => import('../features/pauses/pauses-dialog.tsx'));
const LimitsDialog = lazyComponent(() => import('../features/limits/limits.tsx'));
const CrashDialog = lazyComponent(() => import('../features/crash/crash-dialog.tsx'));
const HelpSheet = lazyComponent(() => import('./help-sheet.tsx'));

const isThere = () => true;

/** The frame of every page: the header, the bar about a lost connection, the page, the request overlay. It is there before the board is. */
export function Frame() {
  useEffect(saveDraftsOnLeave, []);
  const loggedOut = useStreamState((state) => state.loggedOut);
  if (loggedOut !== null) return <LoginHint isKeyLost={loggedOut === 'key-lost'} />;
  return (
    <>
      <Signals />
      <Framed />
    </>
  );
}

/** What the page tells outside of itself: the tab's title and icon, alerts, notices of new logins. It draws nothing. */
function Signals() {
  const { pathname } = useLocation();
  const page = PAGES.find(({ path }) => matchPath(`/${path}`, pathname) !== null);
  useTabTitle(page === undefined ? NOT_FOUND : page.title);
  useAlerts();
  useWorker();
  useNewLoginNotices();
  return null;
}

function Framed() {
  const { pathname, search } = useLocation();
  const { data: isLoaded = false } = useQuery({ ...boardQuery, select: isThere });
  const top = useTopLayer();
  const isBehindDialog = top !== 'page';
  useFrameKeys(top);
  useEffect(followPerson, []);
  useEffect(followTour, []);
  // A stage's requests are in its transcript, which the other tabs show only beside them.
  const hasTwoPanes = useMediaQuery(TWO_PANES, false, { getInitialValueInEffect: false });
  const showsOwn = pathname.startsWith('/stages/') && (hasTwoPanes || !new URLSearchParams(search).has('tab'));
  const stageId = showsOwn ? pathname.slice('/stages/'.length) : null;
  const isWall = pathname === '/wall'; // it is looked at from afar, and has no header to press in
  return (
    <>
      <div className={css.frame} inert={isBehindDialog} aria-hidden={isBehindDialog || undefined}>
        <a className={css.skip} href="#main">
          Skip to the page
        </a>
        <ConnectionBar />
        {!isWall && <Header />}
        <main className={css.main} id="main" tabIndex={-1}>
          <ErrorBoundary name="This page" resetKey={pathname}>
            <Page />
          </ErrorBoundary>
        </main>
      </div>
      <ErrorBoundary name="The request window">
        {isLoaded && <RequestOverlay ownStageId={stageId} disabled={pathname === '/inbox' || isWall} />}
      </ErrorBoundary>
      <Dialogs />
    </>
  );
}

/** The page once the board is there; until then its place, quietly. */
function Page() {
  const { data: isLoaded = false, error, failureReason, refetch } = useQuery({ ...boardQuery, select: isThere });
  if (isLoaded) return <Outlet />;
  if (error !== null) return <NotLoaded text={errorText(error)} retry={() => void refetch()} />;
  return <Loading reason={isTransient(failureReason) ? errorText(failureReason) : null} />;
}

/** What any page opens over itself. */
function Dialogs() {
  const offerText = useOfferText();
  // Also while they load: keys pressed by then are meant for them.
  useCoversPage(paletteDialog.useIsOpen());
  useCoversPage(loginsDialog.useIsOpen());
  useCoversPage(helpDialog.useIsOpen());
  return (
    <>
      <LoadedOnce name="The palette" dialog={paletteDialog} content={<Palette />} />
      <LoadedOnce name="The list of logins" dialog={loginsDialog} content={<LoginsDialog />} />
      <LoadedOnce name="The list of keyboard shortcuts" dialog={helpDialog} content={<HelpSheet />} />
      <LoadedOnce name="The dialog that completes a stage" dialog={completeDialog} content={<CompleteDialog />} />
      <LoadedOnce name="The dialog for a title" dialog={renameDialog} content={<RenameDialog />} />
      <LoadedOnce name="The dialog for a terminal" dialog={terminalDialog} content={<TerminalDialog />} />
      <LoadedOnce name="The dialog that deletes a stage" dialog={deleteDialog} content={<DeleteDialog />} />
      <LoadedOnce
        name="The dialog for going back or forking"
        dialog={momentDialog}
        content={<MomentDialog offerText={offerText} />}
      />
      <LoadedOnce name="The list of usage limits" dialog={limitsDialog} content={<LimitsDialog />} />
      <LoadedOnce name="The list of holds" dialog={pausesDialog} content={<PausesDialog />} />
      <LoadedOnce name="The dialog that kills Callboard" dialog={crashDialog} content={<CrashDialog />} />
      <LoadedOnce name="The list of budgets" dialog={budgetsDialog} content={<BudgetsDialog />} />
    </>
  );
}

interface LoadedOnceProps {
  /** What it is, as the start of a sentence. */
  name: string;
  dialog: Pick<DialogStore<[]>, 'useIsOpen' | 'close'>;
  content: ReactNode;
}

/** Loads a dialog when it is first opened. What fails to load is closed, and loaded again when it is opened again. */
function LoadedOnce({ name, dialog, content }: LoadedOnceProps) {
  const isOpen = dialog.useIsOpen();
  const [isLoaded, setLoaded] = useState(false);
  if (isOpen && !isLoaded) setLoaded(true);
  return (
    <ErrorBoundary name={name} resetKey={isOpen ? 'open' : null} close={dialog.close}>
      {isLoaded && content}
    </ErrorBoundary>
  );
}

/** Takes its room from the header only, so that nothing below moves away from a click. */
function ConnectionBar() {
  const text = useStreamState(absenceText);
  return (
    <div role="status">
      {text !== null && (
        <div className={css.bar}>
          {text.says}{' '}
          <Box component="span" visibleFrom="sm">
            {text.so}
          </Box>
          <Box component="span" hiddenFrom="sm">
            {text.inShort}
          </Box>
        </div>
      )}
    </div>
  );
}

function LoginHint({ isKeyLost }: { isKeyLost: boolean }) {
  return (
    <Flex component="main" h="100dvh">
      <div className={css.center}>
        <BrandMark size={40} />
        <h1>You are not logged in</h1>
        {isKeyLost && <p>Your login was cleared from this browser. Nothing else is lost.</p>}
        <p>
          Press <kbd>l</kbd> in Callboard’s terminal, or run this command, and open the link that is printed. Each link
          works once.
        </p>
        <CopyLine text="npx callboard link" />
      </div>
    </Flex>
  );
}

/** Nothing is drawn at first: mostly the board is there before a person could read that it loads. */
function Loading({ reason }: { reason: string | null }) {
  return (
    <div className={`${css.center} ${css.late}`}>
      <Loader size="sm" color="gray" role="img" aria-label="Loading" />
      {reason !== null && <p role="status">{reason}</p>}
    </div>
  );
}

function NotLoaded({ text, retry }: { text: string; retry: () => void }) {
  return (
    <div className={css.center}>
      <h1>The board could not be loaded</h1>
      <p role="alert">{text}</p>
      <Button onClick={retry}>Try again</Button>
    </div>
  );
}

/** A page's letter counts this long after the G before it. */
const SEQUENCE_MS = 1_500;

const PAGE_KEYS: Readonly<Record<string, string>> = { b: '/', i: '/inbox', s: '/?view=list', d: '/decisions' };

/** The keys that work on every page. The palette's key works over the request overlay as well. */
function useFrameKeys(top: Layer): void {
  const isBehindDialog = top !== 'page';
  const isPaletteOpen = paletteDialog.useIsOpen();
  const navigate = useNavigate();
  const writeStage = useOpenNewStage();
  const pressedG = useRef(Number.NEGATIVE_INFINITY);
  const go = (key: string) => () => {
    const page = PAGE_KEYS[key];
    if (isBehindDialog || page === undefined || performance.now() - pressedG.current > SEQUENCE_MS) return false;
    pressedG.current = Number.NEGATIVE_INFINITY;
    void navigate(page);
  };
  const unlessBehind = (act: () => void) => () => {
    if (isBehindDialog) return false;
    act();
  };
  const cache = useQueryClient();
  const canCommand = useCanCommand();
  /** Opens what asks about the stage at hand, if that can be done with it now. */
  const actAtHand = (action: StageActionId, dialog: DialogStore<[StageId]>): boolean => {
    const view = cache.getQueryData(boardQuery.queryKey);
    const stage = view?.stages.find(({ id }) => id === stageAtHand());
    if (isBehindDialog || stage === undefined || !stageActions(stage, false, canCommand).includes(action)) return false;
    dialog.open(stage.id);
    return true;
  };
  useShortcuts({
    '?': unlessBehind(helpDialog.open),
    n: unlessBehind(writeStage),
    m: ({ shiftKey }) => shiftKey && actAtHand('finish', completeDialog),
    f2: () => actAtHand('rename', renameDialog),
    delete: () => actAtHand('delete', deleteDialog),
    '/': () => {
      const field = document.querySelector<HTMLElement>('[data-shortcut="find"]');
      if (isBehindDialog || field === null) return false;
      field.focus();
    },
    g: unlessBehind(() => {
      pressedG.current = performance.now();
    }),
    b: go('b'),
    i: go('i'),
    s: go('s'),
    d: go('d'),
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isPalette = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey;
      if (!isPalette || event.shiftKey) return;
      event.preventDefault();
      if (isPaletteOpen) paletteDialog.close();
      else if (top === 'page' || top === 'overlay') paletteDialog.open(stageAtHand());
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [top, isPaletteOpen]);
}
