import type { PendingRequest } from '@callboard/contract';
import { Button } from '@mantine/core';
import { type ComponentProps, type ComponentType, useEffect } from 'react';
import { Link } from 'react-router';
import { askFor } from '../features/approvals/arming.ts';
import type { CardRequest } from '../features/approvals/card-request.tsx';
import { Board } from '../features/board/board.tsx';
import { requestKey } from '../lib/format.ts';
import { whenIdle } from '../lib/when-idle.ts';
import { ErrorBoundary, lazyComponent } from '../ui/error-boundary.tsx';
import { preloadMarkdown } from '../ui/markdown.tsx';
import css from './frame.module.css';

const LazyCardRequest = lazyComponent(async () => ({
  default: (await import('../features/approvals/card-request.tsx')).CardRequest,
}));
const BoardForms = lazyComponent(() => import('./board-forms.tsx'));
const DecisionLog = lazyComponent(() => import('../features/decisions/decision-log.tsx'));
const InboxPageContent = lazyComponent(() => import('./inbox-page.tsx'));
const Search = lazyComponent(() => import('../features/search/search-page.tsx'));
const AllRules = lazyComponent(() => import('../features/rules/rules-page.tsx'));
const Notifications = lazyComponent(() => import('./notifications-page.tsx'));
const NumbersContent = lazyComponent(() => import('../features/numbers/numbers-page.tsx'));
const Machines = lazyComponent(() => import('../features/machines/machines-page.tsx'));
const Trash = lazyComponent(() => import('../features/trash/trash-page.tsx'));
const Replay = lazyComponent(() => import('../features/replay/replay-page.tsx'));
const Wall = lazyComponent(() => import('../features/board/wall.tsx'));
const loadStagePage = () => import('./stage-page.tsx');
const StagePageContent = lazyComponent(loadStagePage);

/** What decides a row's request. It is loaded beside the board, which does not wait for it. */
const RequestOfCard = (props: ComponentProps<typeof CardRequest>) => (
  <ErrorBoundary name="The request">
    <LazyCardRequest {...props} />
  </ErrorBoundary>
);

const arm = (request: PendingRequest) => askFor(requestKey(request));

/** The board. While the page is idle, it loads what a click on a row opens; if that fails, the click says so. */
function BoardPage() {
  useEffect(() => {
    if (typeof requestIdleCallback !== 'function') return; // no later than it is needed
    return whenIdle(() => {
      void loadStagePage().catch(() => undefined);
      preloadMarkdown();
    });
  }, []);
  return <Board RequestSlot={RequestOfCard} arm={arm} FormsSlot={BoardForms} />;
}

interface PageOfApp {
  /** Below `/`. */
  path: string;
  /** In the title of the browser's tab; null: the title of the stage. */
  title: string | null;
  Content: ComponentType;
}

/** Every page: its address, and its name in the browser's tab. */
export const PAGES: readonly PageOfApp[] = [
  { path: '', title: '', Content: BoardPage },
  { path: 'inbox', title: 'Inbox', Content: InboxPageContent },
  { path: 'decisions', title: 'Decisions', Content: DecisionLog },
  { path: 'search', title: 'Search', Content: Search },
  { path: 'rules', title: 'Rules', Content: AllRules },
  { path: 'notifications', title: 'Notifications', Content: Notifications },
  { path: 'numbers', title: 'Numbers', Content: NumbersContent },
  { path: 'machines', title: 'Machines', Content: Machines },
  { path: 'trash', title: 'Trash', Content: Trash },
  { path: 'wall', title: 'Wall', Content: Wall },
  { path: 'stages/:stageId', title: null, Content: StagePageContent },
  { path: 'stages/:stageId/replay', title: 'Replay', Content: Replay },
];

/** `stageId` is the id in the URL, if it is one of a stage. */
export function NotFoundPage({ stageId }: { stageId?: string | undefined }) {
  return (
    <div className={css.center}>
      <h1>{stageId === undefined ? 'Page not found' : `There is no stage ${stageId}`}</h1>
      <p>{stageId === undefined ? 'This page does not exist.' : 'It may have been deleted.'}</p>
      <Button component={Link} to="/" variant="default">
        Go to the board
      </Button>
    </div>
  );
}
