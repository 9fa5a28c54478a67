import { createTheme, type MantineColorsTuple } from '@mantine/core';

/** The accent colour, for what can be clicked. */
const accent: MantineColorsTuple = [
  '#eef4f9',
  '#dce8f2',
  '#b9d1e5',
  '#92b8d7',
  '#6f9fc9',
  '#3a73a3',
  '#2b5f8a',
  '#255379',
  '#1e4565',
  '#173650',
];

const gray: MantineColorsTuple = [
  '#f8f9fa',
  '#f0f2f5',
  '#e6e9ed',
  '#dce1e6',
  '#c8cfd7',
  '#a9b2bd',
  '#7c8794',
  '#55606d',
  '#333b45',
  '#1a1f26',
];

const dark: MantineColorsTuple = [
  '#e4e8ed',
  '#b7c0ca',
  '#9aa5b1',
  '#76828f',
  '#3a424d',
  '#2d343d',
  '#20262d',
  '#1a1f25',
  '#14181d',
  '#0e1115',
];

/** Sizes are on a 4 px grid. Colours with a meaning are tokens in `tokens.css`. */
export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: { light: 6, dark: 5 },
  colors: { accent, gray, dark },
  black: '#1a1f26',
  fontFamily: 'var(--font-text)',
  fontFamilyMonospace: 'var(--font-code)',
  fontSizes: { xs: '12px', sm: '14px', md: '14px', lg: '16px', xl: '20px' },
  lineHeights: { xs: '16px', sm: '20px', md: '20px', lg: '24px', xl: '28px' },
  spacing: { xs: '4px', sm: '8px', md: '12px', lg: '16px', xl: '24px' },
  radius: { xs: '3px', sm: '4px', md: '6px', lg: '8px', xl: '12px' },
  defaultRadius: 'md',
  respectReducedMotion: true,
  cursorType: 'pointer',
  headings: { fontFamily: 'var(--font-text)', fontWeight: '600' },
  components: {
    Button: { defaultProps: { size: 'sm' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Textarea: { defaultProps: { size: 'sm' } },
    NativeSelect: { defaultProps: { size: 'sm' } },
    MultiSelect: { defaultProps: { size: 'sm' } },
    Notification: { defaultProps: { closeButtonProps: { 'aria-label': 'Dismiss' } } },
    Modal: { defaultProps: { transitionProps: { duration: 120, transition: 'pop' } } },
    Menu: {
      defaultProps: {
        position: 'bottom-end',
        shadow: 'md',
        transitionProps: { duration: 100 },
        // ARIA does not allow this child in a menu.
        withInitialFocusPlaceholder: false,
      },
    },
    Tooltip: { defaultProps: { openDelay: 400, transitionProps: { duration: 100 } } },
  },
});
