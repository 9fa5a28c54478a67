import { useMemo } from 'react';
import { languageOf } from '../../../lib/code-language.ts';
import { plainOutput } from '../../../lib/plain-output.ts';
import { filePath } from '../../../lib/tool-words.ts';
import { CodeBlock } from '../../../ui/code.tsx';
import { Markdown } from '../../../ui/markdown.tsx';
import { resultCode, subagentReport } from '../model/tool-result-text.ts';
import type { ToolItem } from '../model/transcript-items.ts';
import { LongText } from './long-text.tsx';
import css from './tool-card.module.css';

interface ToolResultProps {
  tool: ToolItem;
  result: NonNullable<ToolItem['result']>;
}

/** A tool call's result; for a subagent its answer, unless that is shown above as its last step. */
export function ToolResult({ tool, result }: ToolResultProps) {
  const report = useMemo(
    () => (isSubagent(tool.use.toolName) ? subagentReport(result.text) : null),
    [tool.use.toolName, result.text],
  );
  if (report === null) return <Output tool={tool} result={result} />;
  const last = tool.children.at(-1);
  const isSaidAbove = last?.kind === 'entry' && last.entry.kind === 'text' && last.entry.text.trim() === report.trim();
  return isSaidAbove ? null : (
    <div>
      <span className="visually-hidden">Result</span>
      <LongText id={tool.use.toolUseId} text={report}>
        {(shown) => <Markdown text={shown} />}
      </LongText>
    </div>
  );
}

const isSubagent = (toolName: string) => toolName === 'Agent' || toolName === 'Task';

function Output({ tool, result }: ToolResultProps) {
  const { toolName, input, toolUseId } = tool.use;
  const language = toolName === 'Read' && !result.isError ? languageOf(filePath(input)) : null;
  const { code, firstLine } = useMemo(() => resultCode(toolName, plainOutput(result.text)), [toolName, result.text]);
  return (
    <div>
      <span className="visually-hidden">Result</span>
      {firstLine !== null && firstLine > 1 && <div className={css.from}>from line {firstLine}</div>}
      <LongText id={toolUseId} text={code === '' ? '(no output)' : code}>
        {(shown) => <CodeBlock text={shown} language={language} />}
      </LongText>
    </div>
  );
}
