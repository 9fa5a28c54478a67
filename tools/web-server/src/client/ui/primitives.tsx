/**
 * What pages are built of. Before you write a style sheet:
 *
 * - Plain elements look right without a class (`app/base.css`): headings (14 px), lists (no bullets), links, `button` (text that is pressed; 44 px on touch).
 *   Classes for any element: `figures` (digits under one another), `truncate` (one line, cut at its end), `pre-wrap` (with its line breaks), `bullets` (a list with them), `faint` (small and grey),
 *   `centered` (what is in it is 880 px wide at most), `visually-hidden`, `hidden-on-phone`. Sheets compose them: `composes: flex-row from global`, `flex-column`, `scrolls`.
 *   `var(--edge)` is the room at the side of a page, `max(32px, var(--touch))` the height of what is pressed.
 *   `data-tone="needs|fail|done"` colours any text.
 * - Layout is Mantine's: `<Stack>` and `<Group>` (gap 8 px), `<Flex component="form" direction="column" gap="sm">` where the element matters.
 *   Spacing: xs 4, sm 8, md 12, lg 16, xl 24. Text: `<Text size="xs|row|md|lg">` is 12, 13, 14, 16 px; `c="dimmed"`, `fw={500}`, `lineClamp`, `truncate`.
 *   A link, or a button that looks like one: `<Anchor component={Link} to="/">`, `<Anchor component="button">`. A button with an icon: `<ActionIcon variant="subtle">`.
 * - Else one of these:
 *
 * | primitive | for |
 * | --- | --- |
 * | `Hint` | a sentence beside what matters: 13 px, grey; `component`, `size="xs"`, `mt` as of `Text` |
 * | `Facts` | short grey facts side by side |
 * | `FactList` | `dl` of names and values, one below the other on a phone |
 * | `Entry` | a `li` with a hairline below it; what follows its first child is at the end of its line |
 * | `ScrollList` | a list in a box that scrolls, 180 px high at most |
 * | `RowButton` | a line of a list that is pressed as a whole |
 * | `Panel` | a box with a hairline around it |
 * | `IconLine` | an icon, then a text: the icon stays at its first line |
 * | `Strip` | part of a page with a hairline below it; it scrolls where the page is low |
 * | `Indented` | what belongs to the line above it: a line at its left |
 * | `NeedsButton` | a button that leads to what needs a person |
 * | `Banner` | a strip over the page: an icon, a title, a text, buttons |
 * | `Columns` | as many equal columns as are at least `min` wide |
 * | `Empty` | what a page or a list says if there is nothing to show |
 * | `Meter` | a bar that shows a share |
 * | `Tag`, `Count` | a word in a box; how many call |
 * | `Table` | its head stays in view; cells of figures have `data-number` |
 * | `Output` | text that a program wrote, scrolling in its box |
 * | `Pane` | a part of a stage's page that scrolls alone |
 * | `FullPage`, `Toolbar`, `Scroll` | a page as high as the window: what is in `Scroll` scrolls below the rest |
 */
import { Box, type BoxProps, Button, Flex, Text, UnstyledButton } from '@mantine/core';
import clsx from 'clsx';
import type { ComponentPropsWithoutRef, ReactNode } from 'react';
import css from './primitives.module.css';

export const Hint = Text.withProps<'p'>({ c: 'dimmed', size: 'row' });

export const Facts = Flex.withProps({ wrap: 'wrap', gap: '0 12px', c: 'dimmed', fz: 'row' });

export const FactList = (props: BoxProps & ComponentPropsWithoutRef<'dl'>) => (
  <Box component="dl" className={css.factList} {...props} />
);

export const Entry = (props: BoxProps & ComponentPropsWithoutRef<'li'>) => (
  <Box component="li" className={css.entry} {...props} />
);

export const Panel = Flex.withProps({ direction: 'column', gap: 'sm', className: css.panel });

export const IconLine = Flex.withProps({ gap: 'sm', align: 'flex-start', className: css.iconLine });

export const Strip = Flex.withProps({ direction: 'column', gap: 'sm', className: css.strip });

export const Indented = Flex.withProps({ direction: 'column', gap: 'sm', className: css.indented });

/** A button that leads to what needs a person. */
export const NeedsButton = Button.withProps({
  variant: 'default',
  c: 'var(--needs)',
  bg: 'var(--needs-soft)',
  bd: '1px solid var(--needs-line)',
});

interface BannerProps extends ComponentPropsWithoutRef<'section'> {
  icon: ReactNode;
  /** Amber, unless nobody is needed. */
  isCalm?: boolean;
}

export const Banner = ({ icon, isCalm = false, children, ...props }: BannerProps) => (
  <section className={css.banner} data-calm={isCalm} {...props}>
    {icon}
    <div>{children}</div>
  </section>
);

interface ColumnsProps extends BoxProps, Omit<ComponentPropsWithoutRef<'div'>, 'style' | 'color'> {
  min: number;
}

export const Columns = ({ min, ...props }: ColumnsProps) => (
  <Box className={css.columns} __vars={{ '--columns-min': `${min}px` }} {...props} />
);

export const Empty = Text.withProps<'p'>({ c: 'dimmed', ta: 'center', px: 'xl', py: 48 });

export const Meter = ({ share, isNear = false }: { share: number; isNear?: boolean }) => (
  <div className={css.meter} data-near={isNear} aria-hidden>
    <span style={{ width: `${Math.min(100, share * 100)}%` }} />
  </div>
);

export const Tag = ({ className, ...props }: ComponentPropsWithoutRef<'span'>) => (
  <span className={clsx(css.tag, className)} {...props} />
);

export const Count = ({ className, ...props }: ComponentPropsWithoutRef<'span'>) => (
  <span className={clsx(css.count, className)} {...props} />
);

export const Table = (props: BoxProps & ComponentPropsWithoutRef<'table'>) => (
  <Box component="table" className={css.table} {...props} />
);

export const Output = (props: ComponentPropsWithoutRef<'pre'>) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
  <pre className={css.output} tabIndex={0} {...props} />
);

export const FullPage = (props: ComponentPropsWithoutRef<'div'>) => <div className={css.fullPage} {...props} />;

export const Toolbar = (props: ComponentPropsWithoutRef<'div'>) => <div className={css.toolbar} {...props} />;

export const Pane = ({ className, ...props }: ComponentPropsWithoutRef<'section'>) => (
  <section className={clsx(css.pane, className)} {...props} />
);

export const Scroll = (props: ComponentPropsWithoutRef<'section'>) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
  <section className={css.scroll} tabIndex={0} {...props} />
);

/** Its lines have what follows their first child at their end. */
export const ScrollList = (props: BoxProps & ComponentPropsWithoutRef<'ul'>) => (
  <Box component="ul" className={css.scrollList} mah={180} fz="row" {...props} />
);

export const RowButton = UnstyledButton.withProps<'button'>({ className: css.rowButton });
