import type { ClaudeState } from '@callboard/contract';
import { IconAlertTriangle, IconCheck, IconCircleDashed } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { withCheck } from '../../../lib/command-parts.ts';
import { supportText } from '../../../lib/isolation-words.ts';
import { CommandText, CopyCommandOf } from '../../../ui/command-words.tsx';
import { CopyLine } from '../../../ui/copy-line.tsx';
import css from './empty-board.module.css';

/** What is known about this machine: what is well, and what is missing, each with its remedy. */
export function ThisMachine() {
  const { data: view } = useQuery(boardQuery);
  if (view === undefined) return null;
  const { claude, sandbox, paused, warnings } = view;
  const support = supportText(sandbox);
  return (
    <ul className={css.checks}>
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
    </ul>
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
    <li data-verdict={verdict}>
      <Icon size={16} aria-hidden />
      <div>
        <span className="visually-hidden">{SPOKEN[verdict]}</span>
        {text}
        {children}
      </div>
    </li>
  );
}
