import type { SessionSummary, StageView, Todo } from '@callboard/contract';
import { IconCircle, IconCircleCheck, IconInfoCircle, IconPlayerPlay } from '@tabler/icons-react';
import { gapSentences, gapsText } from '../../../lib/cli-gap-words.ts';
import { Fold } from './fold.tsx';
import { McpPanel } from './mcp-panel.tsx';
import css from './stage-head.module.css';
import { TaskPanel } from './task-panel.tsx';

/** What this Claude Code lacks, Claude's to-do list, background tasks and MCP servers, each folded to one line. */
export function SessionPanels({ stage }: { stage: StageView }) {
  const { session } = stage;
  if (session === null) return null;
  const gaps = gapsText(session);
  return (
    <div className={css.panels}>
      {gaps !== null && <GapsPanel id={stage.id} text={gaps} session={session} />}
      {session.todos.length > 0 && <TodoPanel id={stage.id} todos={session.todos} />}
      <TaskPanel stageId={stage.id} session={session} />
      <McpPanel stage={stage} />
    </div>
  );
}

function GapsPanel({ id, text, session }: { id: string; text: string; session: SessionSummary }) {
  return (
    <section aria-label="Claude Code">
      <Fold id={`gaps:${id}`} summary={text}>
        <ul className={css.todos}>
          {gapSentences(session).map((sentence) => (
            <li key={sentence}>
              <IconInfoCircle size={16} aria-hidden />
              <span>{sentence}</span>
            </li>
          ))}
        </ul>
        <p className={css.gapsHint}>
          To update, run <code>claude update</code>. This stage uses the new release from its next start.
        </p>
      </Fold>
    </section>
  );
}

const ICONS = { pending: IconCircle, in_progress: IconPlayerPlay, completed: IconCircleCheck };
const TEXTS = { pending: 'to do', in_progress: 'being done', completed: 'done' };

function TodoPanel({ id, todos }: { id: string; todos: readonly Todo[] }) {
  const done = todos.filter((todo) => todo.status === 'completed').length;
  const current = todos.find((todo) => todo.status === 'in_progress');
  const summary = `To do: ${done} of ${todos.length} done${current === undefined ? '' : `, now: ${current.content}`}`;
  return (
    <section aria-label="To do">
      <Fold id={`todo:${id}`} summary={summary}>
        <ul className={css.todos}>
          {todos.map((todo, index) => {
            const Icon = ICONS[todo.status];
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their place
              <li key={index} data-status={todo.status}>
                <Icon size={16} aria-hidden />
                <span>
                  {todo.content} <span className="visually-hidden">({TEXTS[todo.status]})</span>
                </span>
              </li>
            );
          })}
        </ul>
      </Fold>
    </section>
  );
}
