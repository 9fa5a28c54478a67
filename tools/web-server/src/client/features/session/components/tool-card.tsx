import { Button } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import clsx from 'clsx';
import { useId, useState } from 'react';
import { count } from '../../../lib/format.ts';
import { toolText } from '../../../lib/tool-words.ts';
import { ChangedInput } from '../../../ui/changed-input.tsx';
import { exactOnHover } from '../../../ui/exact-on-hover.ts';
import { TimeSince } from '../../../ui/time-since.tsx';
import { ToolInputView } from '../../../ui/tool-input.tsx';
import { callProgress } from '../model/call-progress.ts';
import { lookupsKey } from '../model/find-in-items.ts';
import { useOpen } from '../model/session-ui.ts';
import { doneElsewhere, lineChanges, lookupsText, toolDuration, toolOutcome } from '../model/tool-outcome.ts';
import { countSteps, inputOf, itemKeys, type ToolItem, type TranscriptItem } from '../model/transcript-items.ts';
import { DecisionLine } from './decision-line.tsx';
import { ItemView } from './item-view.tsx';
import { SandboxBlocked } from './sandbox-blocked.tsx';
import css from './tool-card.module.css';
import { ToolResult } from './tool-result.tsx';
import page from './transcript.module.css';
import { useTranscriptDeps } from './transcript-context.tsx';

/** A tool call on one line that can be opened; a failed one opens by default. Its request, if any, is below. */
export function ToolCard({ tool }: { tool: ToolItem }) {
  const { folder, requestsOf } = useTranscriptDeps();
  const isMeant = tool.result?.stopped !== undefined || tool.decisions.some(({ outcome }) => outcome === 'denied');
  const failed = tool.result?.isError === true && !isMeant;
  const isBlocked = tool.result?.sandboxFailure?.isCertain === true;
  const [open, setOpen] = useOpen(tool.use.toolUseId, failed || isBlocked);
  const bodyId = useId();
  const { verb, object, isCode } = toolText(tool.use.toolName, inputOf(tool), folder);
  return (
    <div className={page.indent}>
      <div className={css.tool}>
        <button
          type="button"
          className={css.toolLine}
          aria-expanded={open}
          aria-controls={bodyId}
          onClick={() => setOpen(!open)}
        >
          <IconChevronRight size={16} className={css.chevron} data-open={open} aria-hidden />
          <span className={css.verb}>{verb}</span>
          <span className={clsx(css.object, isCode && css.code)} title={object}>
            {object}
          </span>
          <Outcome tool={tool} failed={failed} />
        </button>
        <div id={bodyId} hidden={!open} className={open ? css.toolBody : undefined}>
          {open && <ToolBody tool={tool} folder={folder} />}
        </div>
      </div>
      {tool.decisions.map((decision) => (
        <div key={decision.requestId} className={css.below}>
          <DecisionLine decision={decision} asked={tool.use.input} />
        </div>
      ))}
      {requestsOf(tool.use.toolUseId)}
      {!open && <InnerRequests items={tool.children} />}
    </div>
  );
}

/** A subagent's requests stay visible while its steps are folded. */
function InnerRequests({ items }: { items: readonly TranscriptItem[] }) {
  const { requestsOf } = useTranscriptDeps();
  return items.map((item) => item.kind === 'tool' && requestsOf(item.use.toolUseId));
}

function Outcome({ tool, failed }: { tool: ToolItem; failed: boolean }) {
  const { requestAt } = useTranscriptDeps();
  const steps = countSteps(tool.children);
  const progress = tool.result === null ? callProgress(tool, requestAt) : toolOutcome(tool);
  const text = [steps > 0 ? count(steps, 'step') : '', doneElsewhere(tool), progress];
  return (
    <span className={clsx(css.outcome, 'figures')} data-failed={failed}>
      {text
        .filter((word) => word !== '')
        .map((word) => (
          <span key={word}>{word}</span>
        ))}
      <LineChanges tool={tool} />
      <span className={css.took}>
        {progress === 'running' ? (
          <TimeSince at={tool.use.at} />
        ) : (
          <span {...exactOnHover(tool.use.at)}>{toolDuration(tool)}</span>
        )}
      </span>
    </span>
  );
}

/** "+12 −3" behind an edit that was made. */
function LineChanges({ tool }: { tool: ToolItem }) {
  const { added, removed } = lineChanges(tool);
  return (
    <>
      {added > 0 && <span className={css.added}>+{added}</span>}
      {removed > 0 && <span className={css.removed}>−{removed}</span>}
    </>
  );
}

function ToolBody({ tool, folder }: { tool: ToolItem; folder: string | null }) {
  return (
    <>
      <div>
        <ToolInputView toolName={tool.use.toolName} input={inputOf(tool)} folder={folder} />
      </div>
      {tool.changed !== null && (
        <ChangedInput toolName={tool.use.toolName} hook={tool.changed.hook} from={tool.use.input} folder={folder} />
      )}
      {tool.children.length > 0 && <Steps items={tool.children} />}
      {tool.result !== null && <ToolResult tool={tool} result={tool.result} />}
      {tool.result?.sandboxFailure != null && (
        <SandboxBlocked stageId={tool.result.stageId} failure={tool.result.sandboxFailure} />
      )}
    </>
  );
}

const NEWEST = 30;

/** A subagent's steps; the newest, if there are many. */
function Steps({ items }: { items: readonly TranscriptItem[] }) {
  const [shown, setShown] = useState(NEWEST);
  const keys = itemKeys(items);
  const hidden = Math.max(0, items.length - shown);
  return (
    <div className={css.children}>
      {hidden > 0 && (
        <Button size="compact-xs" variant="subtle" onClick={() => setShown(shown + NEWEST * 5)}>
          Show earlier steps ({hidden})
        </Button>
      )}
      {items.slice(hidden).map((item, index) => (
        <ItemView key={keys[hidden + index]} item={item} isStep />
      ))}
    </div>
  );
}

interface LineCardProps {
  /** The key under which its open state is stored. */
  openKey: string;
  verb: string;
  object: string;
  items: readonly TranscriptItem[];
}

function LineCard({ openKey, verb, object, items }: LineCardProps) {
  const [open, setOpen] = useOpen(openKey, false);
  return (
    <div className={page.indent}>
      <div className={css.tool}>
        <button type="button" className={css.toolLine} aria-expanded={open} onClick={() => setOpen(!open)}>
          <IconChevronRight size={16} className={css.chevron} data-open={open} aria-hidden />
          <span className={css.verb}>{verb}</span>
          <span className={clsx(css.object, css.code)}>{object}</span>
        </button>
        {open && (
          <div className={css.toolBody}>
            <Steps items={items} />
          </div>
        )}
      </div>
    </div>
  );
}

/** Several read-only calls on one line. */
export function LookupsCard({ tools }: { tools: ToolItem[] }) {
  const { folder } = useTranscriptDeps();
  const objects = tools.map((tool) => toolText(tool.use.toolName, inputOf(tool), folder).object);
  return <LineCard openKey={lookupsKey(tools)} verb={lookupsText(tools)} object={objects.join(', ')} items={tools} />;
}

/** The steps of a subagent whose call is not loaded. */
export function StepsCard({ toolUseId, items }: { toolUseId: string; items: readonly TranscriptItem[] }) {
  const text = `${count(countSteps(items), 'step')}, begun earlier`;
  return <LineCard openKey={toolUseId} verb="Agent" object={text} items={items} />;
}
