/** What an expression of PromQL names. Whether it is well formed, promtool says. */

export interface Matcher {
  label: string;
  operator: '=' | '!=' | '=~' | '!~';
  value: string;
}

export interface Selector {
  metric: string;
  matchers: Matcher[];
}

export interface Named {
  selectors: Selector[];
  /** Labels behind by, without, on, ignoring, group_left and group_right. */
  groupings: string[];
}

const token =
  /\s+|(?<text>"[^"]*")|(?<range>\[[^\]]*\])|(?<number>\d[\w.]*)|(?<word>[A-Za-z_:][\w:]*)|(?<sign>[=!]~|[=!<>]=|[-+*/%^(){},=<>])/gy;
const listing = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right']);
const joining = new Set(['and', 'or', 'unless', 'bool', 'offset']);

export function namesIn(expression: string): Named {
  const tokens = tokensOf(expression);
  const named: Named = { selectors: [], groupings: [] };
  for (let at = 0; at < tokens.length; at++) {
    const word = tokens[at]!;
    const next = tokens[at + 1];
    if (!/^[A-Za-z_:]/.test(word) || joining.has(word)) continue;
    if (listing.has(word)) {
      const end = tokens.indexOf(')', at);
      named.groupings.push(...tokens.slice(at + 2, end).filter((item) => item !== ','));
      at = end;
    } else if (next === '{') {
      const end = tokens.indexOf('}', at);
      named.selectors.push({ metric: word, matchers: matchersOf(tokens.slice(at + 2, end)) });
      at = end;
    } else if (next !== '(' && !listing.has(next ?? '')) {
      named.selectors.push({ metric: word, matchers: [] });
    }
  }
  return named;
}

function tokensOf(expression: string): string[] {
  const tokens = [...expression.matchAll(token)];
  const read = tokens.reduce((length, [text]) => length + text.length, 0);
  if (read !== expression.length) throw new Error(`Cannot read on at: ${expression.slice(read, read + 40)}`);
  return tokens.filter(({ groups }) => Object.values(groups!).some(Boolean)).map(([text]) => text);
}

function matchersOf(tokens: readonly string[]): Matcher[] {
  const matchers: Matcher[] = [];
  for (let at = 0; at < tokens.length; at += 4) {
    const [label, operator, value] = tokens.slice(at, at + 3);
    matchers.push({ label: label!, operator: operator as Matcher['operator'], value: value!.slice(1, -1) });
  }
  return matchers;
}
