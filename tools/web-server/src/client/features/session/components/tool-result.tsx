import { useMemo } from 'react';
import { languageOf } from '../../../lib/code-language.ts';
import { plainOutput } from '../../../lib/plain-output.ts';
import { filePath } from '../../../lib/tool-words.ts';
import { CodeBlock } from '../../../ui/code.tsx';
import { resultCode } from '../model/result-code.ts';
import type { ToolItem } from '../model/transcript-items.ts';
import { LongText } from './long-text.tsx';
import css from './tool-card.module.css';

/** What a tool call gave back. */
export function ToolResult({ tool, result }: { tool: ToolItem; result: NonNullable<ToolItem['result']> }) {
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
