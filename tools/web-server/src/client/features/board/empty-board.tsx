import type { ClaudeState } from '@callboard/contract';
import { Box, Button, Flex } from '@mantine/core';
import { IconAlertTriangle, IconCheck, IconCircleDashed } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useBoardUi } from '../../data/board-ui.ts';
import { boardQuery } from '../../data/queries.ts';
import { supportText, withCheck } from '../../lib/isolation-text.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { CommandText, CopyCommandOf, CopyLine } from '../../ui/notes.tsx';
import { Hint } from '../../ui/primitives.tsx';
import css from './empty-board.module.css';

/** Three ways to begin, shown above an empty board. */
export function EmptyBoard() {
  const { data: hasProject = false } = useQuery({ ...boardQuery, select: (view) => view.projects.length > 0 });
  const { open } = useBoardUi.getState();
  const begin = () =>
    open(hasProject ? { kind: 'new-stage', projectId: null } : { kind: 'add-project', thenNewStage: true });
  return (
    <div className={css.doors}>
      <ProxyEntry
        title={hasProject ? 'Your first stage' : 'Your first repository'}
        text={
          hasProject
            ? 'A stage is one piece of work, written as a prompt. Claude works on it in its own worktree and calls you here.'
            : 'Choose a repository on this machine, then tell Claude what to do. Claude works in its own worktree and calls you here.'
        }
      >
        <Button onClick={begin} disabled={!useCanCommand()}>
          {hasProject ? 'Write the first stage' : 'Choose a repository'}
        </Button>
      </ProxyEntry>
      <ProxyEntry
        title="See the demo"
        text="A sample board on a scripted model: no account, no network, three minutes."
      >
        <CopyLine text="npm run demo" />
      </ProxyEntry>
      <ProxyEntry title="Check this machine">
        <ThisMachine />
        <Hint>All checks, in a terminal:</Hint>
        <CopyLine text="npx callboard doctor" />
      </ProxyEntry>
    </div>
  );
}

function ProxyEntry({ title, text, children }: { title: string; text?: string; children: ReactNode }) {
  return (
    <section>
      <h2>{title}</h2>
      {text !== undefined && <Hint>{text}</Hint>}
      {children}
    </section>
  );
}

/** What is known about this machine: what is well, and what is missing, each with its remedy. */
export function ThisMachine() {
  const { data: view } = useQuery(boardQuery);
  if (view === undefined) return null;
  const { claude, sandbox, paused, warnings } = view;
  const support = supportText(sandbox);
  return (
    <Flex component="ul" direction="column" gap="xs" w="100%">
      <ClaudeCheck claude={claude} />
      <Check
        verdict={sandbox.state === 'works' ? 'well' : sandbox.state === 'fails' ? 'missing' : 'open'}
        text={SANDBOX_TEXTS[sandbox.state]}
      >
        {support !== null && <p>{support.why}</p>}
        {support?.how.map(({ text, isCommand }) =>
          isCommand ? <CopyLine key={text} text={text} /> : <p key={text}>{text}</p>,
        )}
      </Check>
      {[...(paused === null ? [] : [paused]), ...warnings].map(withCheck).map((text) => (
        <Check key={text} verdict="missing" text={<CommandText text={text} />}>
          <div>
            <CopyCommandOf text={text} />
          </div>
        </Check>
      ))}
    </Flex>
  );
}

const SANDBOX_TEXTS = {
  works: 'Sandbox works',
  fails: 'Sandbox does not work; sessions run without it',
  untried: 'Sandbox: not tried yet',
};

const CLAUDE_TEXTS = {
  ready: 'Claude Code, with a login',
  unknown: 'Claude Code; its login cannot be checked here',
  missing: 'Claude Code was not found',
  'not-logged-in': 'Claude is not logged in',
};

const ClaudeCheck = ({ claude: { state, command } }: { claude: ClaudeState }) => (
  <Check verdict={state === 'ready' ? 'well' : state === 'unknown' ? 'open' : 'missing'} text={CLAUDE_TEXTS[state]}>
    {command !== null && <CopyLine text={command} />}
  </Check>
);

const ICONS = { well: IconCheck, missing: IconAlertTriangle, open: IconCircleDashed };
const SPOKEN = { well: 'Well: ', missing: 'Missing: ', open: '' };

function Check({ verdict, text, children }: { verdict: keyof typeof ICONS; text: ReactNode; children?: ReactNode }) {
  const Icon = ICONS[verdict];
  return (
    <Flex component="li" gap="sm" fz="row">
      <Icon size={16} aria-hidden data-tone={verdict === 'missing' ? 'fail' : undefined} />
      <Box flex={1} miw={0}>
        <span className="visually-hidden">{SPOKEN[verdict]}</span>
        {text}
        {children}
      </Box>
    </Flex>
  );
}
