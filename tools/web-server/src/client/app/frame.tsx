import { Button, Loader } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { Outlet, useLocation } from 'react-router';
import { closeBudgets, useBudgetsDialog } from '../data/budgets-dialog.ts';
import { closeCompleteDialog, useCompleteDialogStage } from '../data/complete-dialog.ts';
import { closeDeleteDialog, useDeleteDialogStage } from '../data/delete-dialog.ts';
import { closePausesDialog, usePausesDialog } from '../data/holds.ts';
import { closeLimitsDialog, useLimitsDialog } from '../data/limits-dialog.ts';
import { closeMomentDialog, useMomentDialog } from '../data/moment-dialog.ts';
import { boardQuery } from '../data/queries.ts';
import { saveDraftsOnLeave } from '../features/interaction/api/use-draft.ts';
import { followPerson } from '../features/interaction/model/arming-store.ts';
import { useNewLoginNotices } from '../features/logins/api/use-new-login-notices.tsx';
import { useOfferText } from '../features/messages/api/offer-text.ts';
import { errorText, isTransient } from '../lib/api-client.ts';
import { useStreamState } from '../stream/stream-context.tsx';
import { BrandMark } from '../ui/brand-mark.tsx';
import { CopyLine } from '../ui/copy-line.tsx';
import { useCoversPage, useTopLayer } from '../ui/dialog-layers.ts';
import { ErrorBoundary, lazyComponent } from '../ui/error-boundary.tsx';
import { useAlerts } from './alerts.ts';
import css from './frame.module.css';
import { closeFrameUi, useFrameUi } from './frame-store.ts';
import { absenceText } from './frame-words.ts';
import { Header } from './header.tsx';
import { TWO_PANES } from './two-panes.ts';
import { useFrameKeys } from './use-frame-keys.ts';
import { useTabTitle } from './use-tab-title.ts';
import { useWorker } from './use-worker.ts';

// Loaded at once beside the board, so that the board does not wait for it.
const RequestOverlay = lazyComponent(() => import('../features/interaction/components/request-overlay.tsx'));
const CompleteDialog = lazyComponent(() => import('../features/session/components/complete-dialog.tsx'));
const DeleteDialog = lazyComponent(() => import('../features/session/components/delete-dialog.tsx'));
const MomentDialog = lazyComponent(() => import('../features/session/components/moment-dialog.tsx'));
const Palette = lazyComponent(() => import('./palette.tsx'));
const LoginsDialog = lazyComponent(() => import('../features/logins/components/logins-dialog.tsx'));
const BudgetsDialog = lazyComponent(() => import('../features/budgets/components/budgets-dialog.tsx'));
const PausesDialog = lazyComponent(() => import('../features/holds/components/holds-dialog.tsx'));
const LimitsDialog = lazyComponent(() => import('../features/limits/components/limits-dialog.tsx'));
const HelpSheet = lazyComponent(() => import('./help-sheet.tsx'));

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
  useTabTitle();
  useAlerts();
  useWorker();
  useNewLoginNotices();
  return null;
}

function Framed() {
  const { pathname, search } = useLocation();
  const top = useTopLayer();
  const isBehindDialog = top !== 'page';
  useFrameKeys(top);
  useEffect(followPerson, []);
  // A stage's requests are in its transcript, which the other tabs show only beside them.
  const hasTwoPanes = useMediaQuery(TWO_PANES, false, { getInitialValueInEffect: false });
  const showsOwn = pathname.startsWith('/stages/') && (hasTwoPanes || !new URLSearchParams(search).has('tab'));
  const stageId = showsOwn ? pathname.slice('/stages/'.length) : null;
  return (
    <>
      <div className={css.frame} inert={isBehindDialog} aria-hidden={isBehindDialog || undefined}>
        <a className={css.skip} href="#main">
          Skip to the page
        </a>
        <ConnectionBar />
        <Header />
        <main className={css.main} id="main" tabIndex={-1}>
          <ErrorBoundary name="This page" resetKey={pathname}>
            <Page />
          </ErrorBoundary>
        </main>
      </div>
      <ErrorBoundary name="The request window">
        <RequestOverlay ownStageId={stageId} disabled={pathname === '/inbox'} />
      </ErrorBoundary>
      <OverPage />
      <Completing />
      <Deleting />
      <AtMoment />
      <Limits />
      <Delaying />
      <Budgets />
    </>
  );
}

const isThere = () => true;

/** The page once the board is there; until then its place, quietly. */
function Page() {
  const { data: isLoaded = false, error, failureReason, refetch } = useQuery({ ...boardQuery, select: isThere });
  if (isLoaded) return <Outlet />;
  if (error !== null) return <NotLoaded text={errorText(error)} retry={() => void refetch()} />;
  return <Loading reason={isTransient(failureReason) ? errorText(failureReason) : null} />;
}

interface OverPageProps {
  /** What it is, as the start of a sentence. */
  name: string;
  isOpen: boolean;
  close: () => void;
  children: ReactNode;
}

/** What opens over a page, loaded when it is first opened. What fails to load is closed, and loaded again when it is opened again. */
function LoadedOnce({ name, isOpen, close, children }: OverPageProps) {
  const [isLoaded, setLoaded] = useState(false);
  if (isOpen && !isLoaded) setLoaded(true);
  return (
    <ErrorBoundary name={name} resetKey={isOpen ? 'open' : null} close={close}>
      {isLoaded && children}
    </ErrorBoundary>
  );
}

/** Asks how a stage is to be completed. */
function Completing() {
  const isOpen = useCompleteDialogStage() !== null;
  return (
    <LoadedOnce name="The dialog that completes a stage" isOpen={isOpen} close={closeCompleteDialog}>
      <CompleteDialog />
    </LoadedOnce>
  );
}

function Budgets() {
  const { isOpen, scope } = useBudgetsDialog();
  return (
    <LoadedOnce name="The list of budgets" isOpen={isOpen} close={closeBudgets}>
      <BudgetsDialog opened={isOpen} scope={scope} close={closeBudgets} />
    </LoadedOnce>
  );
}

function Limits() {
  const isOpen = useLimitsDialog();
  return (
    <LoadedOnce name="The list of usage limits" isOpen={isOpen} close={closeLimitsDialog}>
      <LimitsDialog opened={isOpen} close={closeLimitsDialog} />
    </LoadedOnce>
  );
}

/** Holds and releases. */
function Delaying() {
  const isOpen = usePausesDialog();
  return (
    <LoadedOnce name="The list of holds" isOpen={isOpen} close={closePausesDialog}>
      <PausesDialog opened={isOpen} close={closePausesDialog} />
    </LoadedOnce>
  );
}

/** Asks before a stage is deleted. */
function Deleting() {
  const isOpen = useDeleteDialogStage() !== null;
  return (
    <LoadedOnce name="The dialog that deletes a stage" isOpen={isOpen} close={closeDeleteDialog}>
      <DeleteDialog />
    </LoadedOnce>
  );
}

/** Asks before a stage goes back to a message, or is forked there. */
function AtMoment() {
  const isOpen = useMomentDialog() !== null;
  const offerText = useOfferText();
  return (
    <LoadedOnce name="The dialog for going back or forking" isOpen={isOpen} close={closeMomentDialog}>
      <MomentDialog offerText={offerText} />
    </LoadedOnce>
  );
}

const PARTS = { palette: 'The palette', help: 'The list of keyboard shortcuts', logins: 'The list of logins' };

/** What the frame opens over a page, each loaded when it is first opened. */
function OverPage() {
  const open = useFrameUi((ui) => ui.open);
  // Also while it loads: keys pressed by then are meant for it.
  useCoversPage(open !== null);
  const [loaded, setLoaded] = useState({ palette: false, help: false, logins: false });
  if (open !== null && !loaded[open]) setLoaded({ ...loaded, [open]: true });
  return (
    <ErrorBoundary name={PARTS[open ?? 'palette']} resetKey={open} close={closeFrameUi}>
      {loaded.palette && <Palette opened={open === 'palette'} />}
      {loaded.logins && <LoginsDialog opened={open === 'logins'} close={closeFrameUi} />}
      {loaded.help && <HelpSheet opened={open === 'help'} close={closeFrameUi} />}
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
          {text.says} <span className={css.barWide}>{text.so}</span>
          <span className={css.barNarrow}>{text.inShort}</span>
        </div>
      )}
    </div>
  );
}

function LoginHint({ isKeyLost }: { isKeyLost: boolean }) {
  return (
    <main className={css.alone}>
      <div className={css.center}>
        <BrandMark size={40} />
        <h1>You are not logged in</h1>
        {isKeyLost && (
          <p>
            This browser no longer has the key of its login; clearing site data removes it, for example. Nothing else is
            lost.
          </p>
        )}
        <p>
          Press <kbd>l</kbd> in Callboard’s terminal, or run this command, and open the link that is printed. Each link
          works once.
        </p>
        <CopyLine text="npx callboard link" />
      </div>
    </main>
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
