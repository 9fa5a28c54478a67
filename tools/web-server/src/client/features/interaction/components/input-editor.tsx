import type { PendingRequest } from '@callboard/contract';
import { Textarea } from '@mantine/core';
import { HiddenNote } from '../../../ui/seen.tsx';
import { editProblem, isCommand } from '../model/edited-input.ts';

interface InputEditorProps {
  request: PendingRequest;
  edited: string;
  disabled: boolean;
  /** The server's objection to the changed input. */
  refusal: string | null;
  change: (edited: string) => void;
}

/** Edits the command as text, or any other input as JSON, before it is allowed. */
export default function InputEditor({ request, edited, disabled, refusal, change }: InputEditorProps) {
  const problem = editProblem(request, edited);
  const command = isCommand(request);
  return (
    <>
      <Textarea
        label={command ? 'Command' : 'Input as JSON'}
        description={command ? 'Runs in the place of what Claude asked for.' : 'The whole input of the call.'}
        value={edited}
        error={problem?.message ?? refusal ?? undefined}
        disabled={disabled}
        autosize
        minRows={command ? 2 : 4}
        maxRows={16}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        styles={{ input: { fontFamily: 'var(--font-code)', fontSize: 13, color: 'var(--text)' } }}
        onChange={(event) => change(event.currentTarget.value)}
      />
      {/* A text box cannot mark hidden characters, so a note names them. */}
      <HiddenNote texts={[[edited, command ? 'command' : 'code']]} />
    </>
  );
}
