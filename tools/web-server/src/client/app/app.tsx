import type { StageId, StageView } from '@callboard/contract';
import { Button, createTheme, type MantineColorsTuple, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { type QueryClient, QueryClientProvider, useQuery, useQueryClient } from '@tanstack/react-query';
import { createPortal } from 'react-dom';
import { BrowserRouter, Link, Navigate, Route, Routes, useLocation, useNavigate } from 'react-router';
import { useBoardUi } from '../data/board-ui.ts';
import { boardQuery } from '../data/queries.ts';
import { useRemakeWorktree, useReopenStage, useStartStage } from '../data/stage-commands.ts';
import { basePath } from '../lib/base-path.ts';
import type { BoardStream } from '../stream/start-stream.ts';
import { StreamProvider } from '../stream/stream-context.tsx';
import { useNoticePlace } from '../ui/dialog.tsx';
import { CopyLine, type FarStepProps, FarStepProvider, StepButton } from '../ui/notes.tsx';
import { Frame } from './frame.tsx';
import { NotFoundPage, PAGES } from './pages.tsx';

export function App({ cache, stream }: { cache: QueryClient; stream: BoardStream }) {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" deduplicateCssVariables={false}>
      <QueryClientProvider client={cache}>
        <StreamProvider value={stream}>
          <BrowserRouter basename={basePath() || '/'}>
            <FarStepProvider value={ErrorStepButton}>
              <Notices />
              <Routes>
                <Route element={<Frame />}>
                  {PAGES.map(({ path, Content }) => (
                    <Route key={path} path={path} element={<Content />} />
                  ))}
                  {/* The name of the list in earlier versions. */}
                  <Route path="sessions" element={<Navigate to="/?view=list" replace />} />
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

/** Notices stand in the corner; while a dialog is open they stand in it, so that they cover none of its controls. */
function Notices() {
  const place = useNoticePlace();
  if (place === null) return <Notifications position="bottom-left" />;
  return createPortal(<Notifications position="bottom-left" withinPortal={false} />, place);
}

/** The button of an error's step. Nothing if the page is there already, or the stage is not on the board. */
function ErrorStepButton({ step, stageId, done }: FarStepProps) {
  const cache = useQueryClient();
  const { data: stages = [] } = useQuery({ ...boardQuery, select: (view) => view.stages });
  const stage = stages.find(({ id }) => id === stageId);
  switch (step) {
    case 'refresh':
      return (
        <StepButton
          onClick={() => {
            void cache.invalidateQueries();
            done();
          }}
        >
          Refresh
        </StepButton>
      );
    case 'mend-claude':
      return <ClaudeCommand />;
    case 'show-board':
      return <Go to="/" label="Show the board" done={done} />;
  }
  if (stage === undefined) return null;
  switch (step) {
    case 'show-stage':
      return <Go to={`/stages/${stage.id}`} label="Show the stage" done={done} />;
    case 'show-dependency': {
      const first = stages.find(({ id, completedAt }) => stage.dependsOn.includes(id) && completedAt === null);
      return first === undefined ? null : <Go to={`/stages/${first.id}`} label={`Show ${first.title}`} done={done} />;
    }
    case 'edit-stage':
      return <Edit stageId={stage.id} done={done} />;
    case 'start-stage':
    case 'reopen-stage':
      return <Act stage={stage} isStart={step === 'start-stage'} done={done} />;
    case 'remake-worktree':
      return <Remake stage={stage} done={done} />;
    default:
      return step satisfies never;
  }
}

/** The command that installs or updates Claude Code, as this machine's check found it. */
function ClaudeCommand() {
  const { data: command = null } = useQuery({ ...boardQuery, select: (view) => view.claude.command });
  return command === null ? null : <CopyLine text={command} />;
}

function Go({ to, label, done }: { to: string; label: string; done: () => void }) {
  if (useLocation().pathname === to) return null;
  return (
    <Button component={Link} to={to} size="compact-md" onClick={done}>
      {label}
    </Button>
  );
}

/** Opens the form over the board. A stage that was started keeps what it would change. */
function Edit({ stageId, done }: { stageId: StageId; done: () => void }) {
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const open = () => {
    useBoardUi.getState().open({ kind: 'edit-stage', stageId });
    if (pathname !== '/') void navigate('/');
    done();
  };
  return <StepButton onClick={open}>Edit the stage</StepButton>;
}

function Remake({ stage, done }: { stage: StageView; done: () => void }) {
  const remake = useRemakeWorktree(stage.title, false);
  return (
    <StepButton loading={remake.isPending} onClick={() => remake.mutate(stage.id, { onSuccess: done })}>
      Make the worktree again
    </StepButton>
  );
}

function Act({ stage, isStart, done }: { stage: StageView; isStart: boolean; done: () => void }) {
  const start = useStartStage(stage.title);
  const reopen = useReopenStage(stage.title);
  const act = isStart ? start : reopen;
  const run = () => act.mutate(stage.id, { onSuccess: done });
  return (
    <StepButton loading={act.isPending} onClick={run}>
      {isStart ? 'Start the stage' : 'Reopen'}
    </StepButton>
  );
}

/** The accent colour, for what can be clicked. */
const accent: MantineColorsTuple = [
  '#eff4f9',
  '#dde7f2',
  '#bccfe4',
  '#9db8d9',
  '#769ac6',
  '#3f6ea6',
  '#2f5b8c',
  '#294f7a',
  '#224265',
  '#1a334f',
];

const gray: MantineColorsTuple = [
  '#f8f8f9',
  '#f0f0f2',
  '#e6e7e9',
  '#dcdddf',
  '#c9cbce',
  '#a8abb0',
  '#7f848a',
  '#4c5157',
  '#303439',
  '#17191c',
];

const dark: MantineColorsTuple = [
  '#e9eaec',
  '#c3c6cb',
  '#aaaeb4',
  '#8b9097',
  '#3d4146',
  '#282b2f',
  '#1f2225',
  '#16181a',
  '#0f1012',
  '#0a0b0c',
];

/** Sizes are on a 4 px grid. Colours with a meaning are tokens in `tokens.css`. */
const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: { light: 6, dark: 5 },
  colors: { accent, gray, dark },
  black: '#17191c',
  fontFamily: 'var(--font-text)',
  fontFamilyMonospace: 'var(--font-code)',
  fontSizes: { xs: '12px', row: '13px', sm: '14px', md: '14px', lg: '16px', xl: '20px' },
  lineHeights: { xs: '16px', row: '20px', sm: '20px', md: '20px', lg: '24px', xl: '28px' },
  spacing: { xs: '4px', sm: '8px', md: '12px', lg: '16px', xl: '24px' },
  radius: { xs: '3px', sm: '4px', md: '6px', lg: '8px', xl: '12px' },
  defaultRadius: 'md',
  respectReducedMotion: true,
  cursorType: 'pointer',
  headings: { fontFamily: 'var(--font-text)', fontWeight: '600' },
  components: {
    Anchor: { defaultProps: { inherit: true } },
    Button: { defaultProps: { size: 'sm' } },
    Group: { defaultProps: { gap: 'sm' } },
    Stack: { defaultProps: { gap: 'sm' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Textarea: { defaultProps: { size: 'sm' } },
    NativeSelect: { defaultProps: { size: 'sm' } },
    MultiSelect: { defaultProps: { size: 'sm' } },
    Notification: { defaultProps: { closeButtonProps: { 'aria-label': 'Dismiss' } } },
    Modal: { defaultProps: { transitionProps: { duration: 120, transition: 'pop' } } },
    Menu: {
      defaultProps: {
        position: 'bottom-end',
        shadow: 'md',
        transitionProps: { duration: 100 },
        // ARIA does not allow this child in a menu.
        withInitialFocusPlaceholder: false,
      },
    },
    Tooltip: { defaultProps: { openDelay: 400, transitionProps: { duration: 100 } } },
  },
});
