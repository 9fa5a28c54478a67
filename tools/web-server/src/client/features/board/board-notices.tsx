import { type BoardView, isClaudeAway, NO_LIMITS, NOTHING_STORED, type Pause, type Project } from '@callboard/contract';
import { Box, Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { z } from 'zod';
import { useSettleSandbox } from '../../data/board-commands.ts';
import { useBoardUi } from '../../data/board-ui.ts';
import { budgetLines } from '../../data/budget-data.ts';
import { budgetsDialog, limitsDialog, trustDialog } from '../../data/dialogs.ts';
import { heldSince, usePutPause } from '../../data/pauses.tsx';
import { boardQuery } from '../../data/queries.ts';
import { useTrustLater } from '../../data/trust-query.ts';
import { readStored, writeStored } from '../../lib/browser-storage.ts';
import { count } from '../../lib/format.ts';
import { countText } from '../../lib/git-settings-text.ts';
import { useNow } from '../../lib/hooks.ts';
import { withCheck } from '../../lib/isolation-text.ts';
import { limitLine } from '../../lib/limit-text.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { CommandText, CopyCommandOf, CopyLine, FailureNote, Note } from '../../ui/notes.tsx';
import { SandboxSupportNote } from '../../ui/sandbox-support-note.tsx';
import { Tour } from './tour.tsx';

/** Below the board's bar: what is wrong on this machine, and what about the projects needs a decision. */
export function BoardNotices() {
  return (
    <>
      <Tour />
      <ClaudeNotice />
      <PauseNotices />
      <LimitNotice />
      <BudgetNotices />
      <Warnings />
      <SandboxNotices />
      <TrustNotices />
      <GitSettingsNotices />
      <FolderNotices />
    </>
  );
}

/** Claude Code is missing or not logged in. The notice goes away when that is mended. */
function ClaudeNotice() {
  const { data: claude } = useQuery({ ...boardQuery, select: (view) => view.claude });
  const { data: isEmpty = true } = useQuery({ ...boardQuery, select: (view) => view.stages.length === 0 });
  // An empty board has a list of what this machine lacks.
  if (claude === undefined || isEmpty || !isClaudeAway(claude)) return null;
  return (
    <Box px="lg" pb="sm">
      <FailureNote>
        <Group gap="8px 16px">
          <span>{claude.why}</span>
          {claude.command !== null && <CopyLine text={claude.command} />}
        </Group>
      </FailureNote>
    </Box>
  );
}

/** Everything, or a project, is on hold: since when, by whom, and its release. */
function PauseNotices() {
  const { data: pauses = [] } = useQuery({ ...boardQuery, select: (view) => view.holds });
  const { data: projects = [] } = useQuery({ ...boardQuery, select: (view) => view.projects });
  return pauses.map((pause) => {
    const { scope, except } = pause;
    const project = 'projectId' in scope ? projects.find(({ id }) => id === scope.projectId)?.name : 'Everything';
    return <PauseNotice key={project} what={project ?? 'A project'} hold={pause} released={except.length} />;
  });
}

function PauseNotice({ what, hold, released }: { what: string; hold: Pause; released: number }) {
  const put = usePutPause(what);
  const canCommand = useCanCommand();
  const rest = released === 0 ? '' : ` ${released === 1 ? 'One was' : `${released} were`} released since.`;
  return (
    <Notice text={`${heldSince(what, hold)}. Nothing starts, and queued messages wait.${rest}`}>
      <Button
        variant="default"
        size="compact-md"
        aria-label={`Release ${what}`}
        disabled={!canCommand}
        loading={put.isPending}
        onClick={() => put.mutate({ scope: hold.scope, held: false })}
      >
        Release
      </Button>
    </Notice>
  );
}

/** A usage limit of the account is near or reached: until when, and what waits. */
function LimitNotice() {
  const { data: limits = NO_LIMITS } = useQuery({ ...boardQuery, select: (view) => view.limits });
  const { data: waiting = 0 } = useQuery({ ...boardQuery, select: waitingForReset });
  const line = limitLine(limits, new Date(useNow()));
  if (line === null) return null;
  const resume =
    waiting === 0
      ? ''
      : ` ${count(waiting, 'stage goes', 'stages go')} on by ${waiting === 1 ? 'itself' : 'themselves'}.`;
  return (
    <Notice text={`${line.text}${resume}`}>
      <Button variant="default" size="compact-md" onClick={limitsDialog.open}>
        Usage limits
      </Button>
    </Notice>
  );
}

/** Budgets that are spent or nearly so. */
function BudgetNotices() {
  const { data: lines = [] } = useQuery({ ...boardQuery, select: budgetLines });
  return lines.map((text) => (
    <Notice key={text} text={text}>
      <Button variant="default" size="compact-md" onClick={() => budgetsDialog.open()}>
        Budgets
      </Button>
    </Notice>
  ));
}

const waitingForReset = (view: BoardView): number =>
  view.stages.filter(({ session, completedAt }) => session?.limitWait?.goesOnAt != null && completedAt === null).length;

/** The board's warnings about this machine, and why nothing is started, delivered or stored right now. */
function Warnings() {
  const { data: warnings = [] } = useQuery({ ...boardQuery, select: (view) => view.warnings });
  const { data: paused = null } = useQuery({ ...boardQuery, select: (view) => view.paused });
  const stopped = paused === null ? [] : [{ text: paused, note: FailureNote }];
  return [...stopped, ...warnings.map((text) => ({ text, note: noteOf(text) }))]
    .map(({ text, note }) => ({ text: withCheck(text), note }))
    .map(({ text, note }) => (
      <Notice key={text} text={text} as={note}>
        <CopyCommandOf text={text} />
      </Notice>
    ));
}

const noteOf = (warning: string) => (warning.startsWith(NOTHING_STORED) ? FailureNote : Note);

/** The offer of a sandbox to projects older than it, or why the sandbox does not work here. */
function SandboxNotices() {
  const { data: support } = useQuery({ ...boardQuery, select: (view) => view.sandbox });
  const { data: projects = [] } = useQuery({ ...boardQuery, select: (view) => view.projects });
  const undecided = projects.filter(({ settings }) => settings.sandbox === null);
  if (support?.state === 'works') return undecided.length > 0 && <SandboxOffer projects={undecided} />;
  const isWanted = projects.some(({ settings }) => settings.sandbox === true);
  if (support?.state !== 'fails' || !isWanted) return null;
  return <SandboxMissing key={support.why} support={support} />;
}

/** One offer for all of them. A project's settings can differ from it. */
function SandboxOffer({ projects }: { projects: readonly Project[] }) {
  const names = new Intl.ListFormat('en').format(projects.map(({ name }) => name));
  const settle = useSettleSandbox(names);
  const canCommand = useCanCommand();
  const button = (sandbox: boolean, label: string) => (
    <Button
      variant="default"
      size="compact-md"
      aria-label={`${label}: a sandbox for ${names}`}
      disabled={!canCommand || settle.isPending}
      loading={settle.isPending && settle.variables.sandbox === sandbox}
      onClick={() => settle.mutate({ projectIds: projects.map(({ id }) => id), sandbox })}
    >
      {label}
    </Button>
  );
  return (
    <Notice
      text={`Claude’s commands in ${names} can run in a sandbox. They then cannot approve their own requests, and ask before they use the network. Takes effect when a stage next starts.`}
    >
      {button(false, 'Not now')}
      {button(true, 'Turn on')}
    </Notice>
  );
}

const HIDDEN = 'callboard-sandbox-hidden';

function SandboxMissing({ support }: Parameters<typeof SandboxSupportNote>[0]) {
  const [hidden, setHidden] = useState(() => readStored(HIDDEN, z.string(), ''));
  const cause = support.why ?? '';
  if (hidden === cause && cause !== '') return null;
  const hide = () => {
    writeStored(HIDDEN, cause);
    setHidden(cause);
  };
  return (
    <Box px="lg" pb="sm">
      <SandboxSupportNote support={support}>
        <Button variant="default" size="compact-md" onClick={hide}>
          Hide
        </Button>
      </SandboxSupportNote>
    </Box>
  );
}

/** Projects whose own settings are off because nobody has trusted them in their current form. */
function TrustNotices() {
  const { data: projects = [] } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.filter(({ trust }) => trust.needed),
  });
  const { hashes } = useTrustLater();
  return projects
    .filter(({ id, trust }) => hashes[id] !== trust.hash)
    .map(({ id, name }) => (
      <Notice
        key={id}
        text={`${name} has settings of its own that can run programs or allow tools. They stay off until you trust them.`}
      >
        <ReviewButton label={`Review the settings of ${name}`} review={() => trustDialog.open({ projectId: id })} />
      </Notice>
    ));
}

/** Projects with git settings that would run programs nobody has agreed to. */
function GitSettingsNotices() {
  const { data: projects = [] } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.filter(({ gitSettings }) => gitSettings.needed),
  });
  const { open } = useBoardUi.getState();
  return projects.map(({ id, name, gitSettings }) => {
    const isOne = gitSettings.items.length === 1;
    const text = `${name}: ${countText(gitSettings)} ${isOne ? 'is' : 'are'} new and can run programs. Callboard leaves ${isOne ? 'it' : 'them'} off until you agree.`;
    return (
      <Notice key={id} text={text}>
        <ReviewButton
          label={`Review the git settings of ${name}`}
          review={() => open({ kind: 'project', projectId: id, section: 'Git settings' })}
        />
      </Notice>
    );
  });
}

/** Watched folders with files that cannot be taken over; each notice goes away when they are mended. */
function FolderNotices() {
  const { data: projects = [] } = useQuery({ ...boardQuery, select: (view) => view.projects });
  const { open } = useBoardUi.getState();
  return projects.flatMap(({ id, name, settings, stageFolders }) =>
    stageFolders
      .filter(({ path, problems }) => problems.length > 0 && settings.stageFolders.includes(path))
      .map(({ path, problems }) => (
        <Notice
          key={`${id} ${path}`}
          text={`${name}: ${count(problems.length, 'problem')} in the watched folder ${path}. What cannot be read there changes nothing.`}
        >
          <ReviewButton
            label={`Review the watched folder ${path} of ${name}`}
            review={() => open({ kind: 'project', projectId: id, section: 'Import and export' })}
          />
        </Notice>
      )),
  );
}

interface NoticeProps {
  text: string;
  /** How it looks: a note by default. */
  as?: typeof Note;
  children: ReactNode;
}

/** A notice with its buttons. */
function Notice({ text, as: Kind = Note, children }: NoticeProps) {
  return (
    <Box px="lg" pb="sm">
      <Kind>
        <Group gap="4px 12px">
          <Text span inherit flex="1 1 280px" miw={0}>
            <CommandText text={text} />
          </Text>
          {children}
        </Group>
      </Kind>
    </Box>
  );
}

const ReviewButton = ({ label, review }: { label: string; review: () => void }) => (
  <Button variant="default" size="compact-md" aria-label={label} onClick={review}>
    Review
  </Button>
);
