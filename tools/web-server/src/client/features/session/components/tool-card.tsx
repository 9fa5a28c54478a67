import { IconChevronRight } from '@tabler/icons-react';
import clsx from 'clsx';
import { useId, useState } from 'react';
import { toolWords } from '../../../lib/tool-words.ts';
import { CodeBlock } from '../../../ui/code.tsx';
import { ToolInputView } from '../../../ui/tool-input.tsx';
import { toolDuration, toolOutcome } from '../model/tool-outcome.ts';
import { itemKey, type ToolItem } from '../model/transcript-items.ts';
import { DecisionLine } from './decision-line.tsx';
import { ItemView } from './item-view.tsx';
import css from './tool-card.module.css';
import page from './transcript.module.css';
import { useTranscriptParts } from './transcript-parts.tsx';

/** A tool call as one line, opened on demand; one that failed is open by itself. Its request, if any, stands beneath. */
export function ToolCard({ tool }: { tool: ToolItem }) {
  const { folder, requestsOf } = useTranscriptParts();
  const failed = tool.result?.isError === true;
  const denied = tool.decisions.some((decision) => decision.outcome === 'denied');
  const [chosen, setChosen] = useState<boolean | null>(null);
  const open = chosen ?? (failed && !denied);
  const bodyId = useId();
  const { verb, object, isCode } = toolWords(tool.use.toolName, tool.use.input, folder);
  return (
    <div className={page.indent}>
      <div className={clsx(css.tool, failed && !denied && css.toolFailed)}>
        <button
          type="button"
          className={css.toolLine}
          aria-expanded={open}
          aria-controls={bodyId}
          onClick={() => setChosen(!open)}
        >
          <IconChevronRight size={16} className={css.chevron} data-open={open} aria-hidden />
          <span className={css.verb}>{verb}</span>
          <span className={clsx(css.object, isCode && css.code)} title={object}>
            {object}
          </span>
          <Outcome tool={tool} failed={failed && !denied} />
        </button>
        <div id={bodyId} hidden={!open} className={open ? css.toolBody : undefined}>
          {open && <ToolBody tool={tool} folder={folder} />}
        </div>
      </div>
      {tool.decisions.map((decision) => (
        <div key={decision.requestId} className={css.below}>
          <DecisionLine decision={decision} />
        </div>
      ))}
      {requestsOf(tool.use.toolUseId)}
    </div>
  );
}

function Outcome({ tool, failed }: { tool: ToolItem; failed: boolean }) {
  const { waits } = useTranscriptParts();
  const steps = tool.children.length;
  const unfinished = waits(tool.use.toolUseId) ? 'waits for you' : 'running';
  const words = [
    steps > 0 ? `${steps} ${steps === 1 ? 'step' : 'steps'}` : '',
    tool.result === null ? unfinished : toolOutcome(tool),
    toolDuration(tool),
  ];
  return (
    <span className={css.outcome} data-failed={failed}>
      {words
        .filter((word) => word !== '')
        .map((word) => (
          <span key={word}>{word}</span>
        ))}
    </span>
  );
}

function ToolBody({ tool, folder }: { tool: ToolItem; folder: string | null }) {
  return (
    <>
      <div>
        <ToolInputView toolName={tool.use.toolName} input={tool.use.input} folder={folder} />
      </div>
      {tool.children.length > 0 && (
        <div className={css.children}>
          {tool.children.map((item) => (
            <ItemView key={itemKey(item)} item={item} />
          ))}
        </div>
      )}
      {tool.result !== null && (
        <div>
          <span className="visually-hidden">Result</span>
          <CodeBlock text={tool.result.text === '' ? '(no output)' : tool.result.text} />
        </div>
      )}
    </>
  );
}

/** Several calls that only looked, as one line. */
export function LooksCard({ tools }: { tools: ToolItem[] }) {
  const { folder } = useTranscriptParts();
  const [open, setOpen] = useState(false);
  const objects = tools.map((tool) => toolWords(tool.use.toolName, tool.use.input, folder).object);
  return (
    <div className={page.indent}>
      <div className={css.tool}>
        <button type="button" className={css.toolLine} aria-expanded={open} onClick={() => setOpen(!open)}>
          <IconChevronRight size={16} className={css.chevron} data-open={open} aria-hidden />
          <span className={css.verb}>Looked at {tools.length} places</span>
          <span className={clsx(css.object, css.code)}>{objects.join(', ')}</span>
        </button>
      </div>
      {open && (
        <div className={css.children}>
          {tools.map((tool) => (
            <ToolCard key={tool.use.index} tool={tool} />
          ))}
        </div>
      )}
    </div>
  );
}
