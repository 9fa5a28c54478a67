import { type InputChange, visibleText } from '@callboard/contract';
import css from './changed-input.module.css';
import { ToolInputView } from './tool-input.tsx';

interface ChangedInputProps extends InputChange {
  toolName: string;
  folder: string | null;
}

/** Says that a hook changed a call, and shows what Claude wrote. */
export function ChangedInput({ toolName, hook, from, folder }: ChangedInputProps) {
  return (
    <div className={css.changed} role="note" aria-label="Changed by a hook">
      <p className={css.words}>A hook changed this call{hook !== null && <HookName hook={hook} />}. Claude wrote:</p>
      <ToolInputView toolName={toolName} input={from} folder={folder} />
    </div>
  );
}

const HookName = ({ hook }: { hook: string }) => (
  <>
    {': '}
    <code className={css.hook}>{visibleText(hook, 'command')}</code>
  </>
);
