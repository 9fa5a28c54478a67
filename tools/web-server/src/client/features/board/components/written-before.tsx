import { Button } from '@mantine/core';
import { Note } from '../../../ui/note.tsx';

/** Says that the form holds what was written into it before. */
export const WrittenBefore = ({ forget }: { forget: () => void }) => (
  <Note>
    This holds what you wrote before and did not send.{' '}
    <Button variant="subtle" size="compact-sm" onClick={forget}>
      Begin anew
    </Button>
  </Note>
);
