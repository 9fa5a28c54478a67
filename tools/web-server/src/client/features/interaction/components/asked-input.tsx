import type { PendingRequest } from '@callboard/contract';
import { relativePath } from '../../../lib/paths.ts';
import { field, filePath } from '../../../lib/tool-words.ts';
import codeCss from '../../../ui/code.module.css';
import { Diff } from '../../../ui/code.tsx';
import { ToolInputView } from '../../../ui/tool-input.tsx';
import { isCommand } from '../model/edited-input.ts';
import { shellPieces } from '../model/shell-words.ts';
import { Clipped } from './clipped.tsx';
import css from './content.module.css';

/** What would run, as legibly as its kind allows. */
export function AskedInput({ request, folder }: { request: PendingRequest; folder: string | null }) {
  return (
    <Clipped>
      <Content request={request} folder={folder} />
    </Clipped>
  );
}

function Content({ request, folder }: { request: PendingRequest; folder: string | null }) {
  const { toolName, input } = request;
  if (isCommand(request)) return <Command text={field(input, 'command')} />;
  if (toolName !== 'Write') return <ToolInputView toolName={toolName} input={input} folder={folder} />;
  return (
    <>
      <div className={codeCss.caption} title={filePath(input)}>
        {relativePath(filePath(input), folder)}, its whole content:
      </div>
      <Diff before="" after={field(input, 'content')} />
    </>
  );
}

function Command({ text }: { text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
    <pre className={`${codeCss.block} ${codeCss.prompt}`} tabIndex={0}>
      {shellPieces(text).map((piece, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their place
        <span key={index} className={css[piece.kind]}>
          {piece.text}
        </span>
      ))}
    </pre>
  );
}
