import { Presentation } from '@callboard/contract';
import { Menu } from '@mantine/core';
import { useMe, useSetPresentation } from '../api/use-me.ts';

const TEXTS: Readonly<Record<Presentation, string>> = {
  overlay: 'Over the page',
  panel: 'Beside the page',
  quiet: 'Only a card in the corner',
};

/** How requests present themselves to this person, as items of a menu. */
export function PresentationItems() {
  const { presentation } = useMe();
  const set = useSetPresentation();
  return (
    <Menu.RadioGroup value={presentation} onChange={(value) => set.mutate(Presentation.parse(value))}>
      <Menu.Label>Requests appear</Menu.Label>
      {Presentation.options.map((option) => (
        <Menu.RadioItem key={option} value={option}>
          {TEXTS[option]}
        </Menu.RadioItem>
      ))}
    </Menu.RadioGroup>
  );
}
