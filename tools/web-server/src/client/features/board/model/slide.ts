type Location = Pick<DOMRect, 'left' | 'top' | 'width' | 'height'>;

const SLIDE_MS = 150;

/**
 * Slides a picture of the element from where it stood to where it is. The element itself stays hidden meanwhile: its
 * column would cut it off. Does nothing if the person wants less motion.
 */
export function slideFrom(element: HTMLElement, from: Location): void {
  const isStill = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
  if (isStill || typeof element.animate !== 'function') return;
  const to = element.getBoundingClientRect();
  const [x, y] = [from.left - to.left, from.top - to.top];
  if (to.width === 0 || from.width === 0 || Math.hypot(x, y) < 1) return;
  const picture = element.cloneNode(true);
  if (!(picture instanceof HTMLElement)) return;
  picture.setAttribute('aria-hidden', 'true');
  picture.inert = true;
  for (const named of [picture, ...picture.querySelectorAll('[id], [data-card]')]) {
    named.removeAttribute('id');
    named.removeAttribute('data-card');
  }
  Object.assign(picture.style, {
    position: 'fixed',
    left: `${to.left}px`,
    top: `${to.top}px`,
    width: `${to.width}px`,
    zIndex: '5',
    pointerEvents: 'none',
    background: 'var(--surface)',
  });
  document.body.append(picture);
  element.style.opacity = '0'; // it keeps the focus
  const timing = { duration: SLIDE_MS, easing: 'ease-out' };
  const slide = picture.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: 'none' }], timing);
  const end = () => {
    picture.remove();
    element.style.opacity = '';
  };
  slide.finished.then(end, end);
}
