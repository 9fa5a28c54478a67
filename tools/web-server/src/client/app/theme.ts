import { createTheme, type MantineColorsTuple } from '@mantine/core';

/** The accent colour, for what can be clicked. */
const accent: MantineColorsTuple = [
  '#eff4f9',
  '#dde7f2',
  '#bccfe4',
  '#9db8d9',
  '#769ac6',
  '#3f6ea6',
  '#2f5b8c',
  '#294f7a',
  '#224265',
  '#1a334f',
];

const gray: MantineColorsTuple = [
  '#f8f8f9',
  '#f0f0f2',
  '#e6e7e9',
  '#dcdddf',
  '#c9cbce',
  '#a8abb0',
  '#7f848a',
  '#4c5157',
  '#303439',
  '#17191c',
];

const dark: MantineColorsTuple = [
  '#e9eaec',
  '#c3c6cb',
  '#aaaeb4',
  '#8b9097',
  '#3d4146',
  '#282b2f',
  '#1f2225',
  '#16181a',
  '#0f1012',
  '#0a0b0c',
];

/** Sizes are on a 4 px grid. Colours with a meaning are tokens in `tokens.css`. */
export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: { light: 6, dark: 5 },
  colors: { accent, gray, dark },
  black: '#17191c',
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
