/** Runs in the page, so it may use nothing from here. */

/**
 * Every visible text whose contrast with what is behind it is less than WCAG 2.2, 1.4.3 asks for, and how many were
 * looked at. Colours are mixed over one another down to the first that hides the rest.
 */
export function poorContrast(): { seen: number; poor: string[] } {
  type Colour = [red: number, green: number, blue: number, alpha: number];
  const parse = (text: string): Colour => {
    const [red = 0, green = 0, blue = 0, alpha = 1] = text.match(/[\d.]+/g)?.map(Number) ?? [];
    return [red, green, blue, alpha];
  };
  const over = (top: Colour, bottom: Colour): Colour => {
    const mix = (i: 0 | 1 | 2) => top[i] * top[3] + bottom[i] * (1 - top[3]);
    return [mix(0), mix(1), mix(2), 1];
  };
  const groundOf = (element: Element | null): Colour => {
    if (element === null) return [255, 255, 255, 1];
    const own = parse(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, groundOf(element.parentElement));
  };
  const luminance = (colour: Colour) => {
    const [red, green, blue] = colour.slice(0, 3).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  };
  const contrast = (a: Colour, b: Colour) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light! + 0.05) / (dark! + 0.05);
  };

  let seen = 0;
  const poor: string[] = [];
  for (const element of document.querySelectorAll('body *')) {
    const text = [...element.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE);
    const words = text.map(({ textContent }) => textContent?.trim()).join('');
    if (words === '' || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
      continue;
    // WCAG excuses what cannot be used.
    if (element.matches(':disabled')) continue;
    seen += 1;
    const ground = groundOf(element);
    const ratio = contrast(over(parse(getComputedStyle(element).color), ground), ground);
    if (ratio < 4.5) poor.push(`${ratio.toFixed(2)}: ${words}`);
  }
  return { seen, poor };
}
