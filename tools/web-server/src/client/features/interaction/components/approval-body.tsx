import { relativePath } from '../../../lib/paths.ts';
import { toolWords } from '../../../lib/tool-words.ts';
import { ToolInputView } from '../../../ui/tool-input.tsx';
import { useFolder } from '../api/use-request.ts';
import type { RequestBodyProps } from './kinds.ts';
import css from './request.module.css';
import { RequestMeta } from './request-meta.tsx';
import { VerdictActions } from './verdict-actions.tsx';

/** The path that made Claude Code ask: in the stage's own folder, or outside of it. */
function pathWords(path: string, folder: string | null): string {
  const inFolder = relativePath(path, folder);
  return inFolder === path ? `Outside of the stage's folder: ${path}` : `On ${inFolder}`;
}

/** A tool call that waits for permission: what would run, on what, and why it is asked. */
export function ApprovalBody({ request, keys }: RequestBodyProps) {
  const folder = useFolder(request.stageId);
  const { description, reason, blockedPath } = request;
  const isSaid = toolWords(request.toolName, request.input, folder).object === description;
  return (
    <>
      <div className={css.scroll}>
        <RequestMeta request={request} />
        <div>
          <ToolInputView toolName={request.toolName} input={request.input} folder={folder} />
        </div>
        {description !== null && !isSaid && <p>{description}</p>}
        {blockedPath !== null && <p className={css.why}>{pathWords(blockedPath, folder)}</p>}
        {reason !== null && <p className={css.why}>Why it asks: {reason}</p>}
      </div>
      <VerdictActions request={request} keys={keys} reasonLabel="Reason; Claude reads it when you deny" />
    </>
  );
}
