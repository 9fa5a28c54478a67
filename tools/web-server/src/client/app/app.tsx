import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { type QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { BrowserRouter, Route, Routes } from 'react-router';
import type { BoardStream } from '../stream/start-stream.ts';
import { StreamProvider } from '../stream/stream-context.tsx';
import { FarStepProvider } from '../ui/error-note.tsx';
import { ErrorStepButton } from './error-step.tsx';
import { Frame } from './frame.tsx';
import {
  BoardPage,
  DecisionsPage,
  InboxPage,
  MachinesPage,
  NotFoundPage,
  NotificationsPage,
  NumbersPage,
  RulesPage,
  SearchPage,
  SessionsPage,
  StagePage,
  TrashPage,
} from './pages.tsx';
import { theme } from './theme.ts';

export function App({ cache, stream }: { cache: QueryClient; stream: BoardStream }) {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" deduplicateCssVariables={false}>
      <QueryClientProvider client={cache}>
        <StreamProvider value={stream}>
          <BrowserRouter>
            <FarStepProvider value={ErrorStepButton}>
              <Notifications position="bottom-left" />
              <Routes>
                <Route element={<Frame />}>
                  <Route index element={<BoardPage />} />
                  <Route path="inbox" element={<InboxPage />} />
                  <Route path="decisions" element={<DecisionsPage />} />
                  <Route path="sessions" element={<SessionsPage />} />
                  <Route path="search" element={<SearchPage />} />
                  <Route path="rules" element={<RulesPage />} />
                  <Route path="notifications" element={<NotificationsPage />} />
                  <Route path="numbers" element={<NumbersPage />} />
                  <Route path="machines" element={<MachinesPage />} />
                  <Route path="trash" element={<TrashPage />} />
                  <Route path="stages/:stageId" element={<StagePage />} />
                  <Route path="*" element={<NotFoundPage />} />
                </Route>
              </Routes>
            </FarStepProvider>
          </BrowserRouter>
        </StreamProvider>
      </QueryClientProvider>
    </MantineProvider>
  );
}
