import { type PendingRequest, type ToolInput, visibleText } from '@callboard/contract';
import { count } from '../../../lib/format.ts';
import { lineDiff } from '../../../lib/line-diff.ts';
import { relativePath } from '../../../lib/paths.ts';
import { isPathCut } from '../../../lib/request-text.ts';
import { field, filePath } from '../../../lib/tool-words.ts';
import codeCss from '../../../ui/code.module.css';
import { Diff } from '../../../ui/code.tsx';
import { LineCounts } from '../../../ui/line-counts.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { ToolInputView } from '../../../ui/tool-input.tsx';
import { isCommand } from '../model/edited-input.ts';
import { writeText } from '../model/write-words.ts';
import { AskedCommand } from './asked-command.tsx';
import { Clipped } from './clipped.tsx';

interface AskedInputProps {
  request: PendingRequest;
  folder: string | null;
  /** Whether nothing of it is hidden until it is asked for. */
  isWhole?: boolean;
}

/** The input that would run, in the most legible form for its tool. */
export function AskedInput({ request, folder, isWhole = false }: AskedInputProps) {
  const { toolName, input } = request;
  if (isCommand(request)) return <AskedCommand text={field(input, 'command')} isWhole={isWhole} />;
  return (
    <Clipped isWhole={isWhole}>
      {toolName === 'Write' || toolName === 'Edit' ? (
        <FileChange request={request} folder={folder} />
      ) : (
        <ToolInputView toolName={toolName} input={input} folder={folder} />
      )}
    </Clipped>
  );
}

/** The change to a file and its size; also the path if the form's title has no room for it. */
function FileChange({ request, folder }: AskedInputProps) {
  const { toolName, input } = request;
  const [before, after] = toolName === 'Write' ? ['', field(input, 'content')] : textsOf(input);
  const lines = lineDiff(before, after);
  const added = lines.filter(({ kind }) => kind === 'added').length;
  const removed = lines.filter(({ kind }) => kind === 'removed').length;
  const path = relativePath(filePath(input), folder);
  return (
    <>
      <div className={codeCss.caption} title={visibleText(filePath(input), 'command')}>
        {isPathCut(path) && (
          <div>
            <Seen text={path} kind="command" />
          </div>
        )}
        {toolName === 'Write' ? (
          `${writeText(request)}, ${count(added, 'line')}`
        ) : (
          <LineCounts added={added} removed={removed} />
        )}
      </div>
      <Diff before={before} after={after} />
    </>
  );
}

const textsOf = (input: ToolInput): [string, string] => [field(input, 'old_string'), field(input, 'new_string')];
