import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The demo page's modules → one script. A page of one answer needs no route for each file and no bundler, and one hash
 * in its policy names all that may run. The files stay ordinary ES modules, which tests import and tsc checks.
 */

interface Module {
  /** What a script calls it. */
  name: string;
  imports: { names: string[]; file: string }[];
  exports: string[];
  /** Without comments, indentation, imports and the word export. */
  body: string;
}

const importLine = /^import \{([^}]*)\} from\s'\.\/([\w-]+\.js)';\n/gm;
const exported = /^export (?=(?:async )?(?:function|class|const) (\w+))/gm;

/** Only where they have lines of their own: within a line, a text may hold the same characters. */
const comments = /^[ \t]*(?:\/\*(?:[^*]|\*(?!\/))*\*\/|\/\/.*)[ \t]*\n/gm;
const indentation = /^[ \t]+/gm;

/**
 * The entry and all that it imports, each in a function of its own, those that are imported first. Only
 * imports by name out of the same folder and `export function|class|const` are understood.
 * Throws an Error that names the file for any other form, for a name that is not exported, and for a circle.
 */
export function linkModules(folder: string, entry: string): string {
  const linked = new Map<string, Module>();
  const open = new Set<string>();

  const visit = (file: string): Module => {
    const known = linked.get(file);
    if (known !== undefined) return known;
    if (open.has(file)) throw new Error(`${[...open, file].join(' → ')}: modules that import each other`);
    open.add(file);
    const module = parse(file, readFileSync(join(folder, file), 'utf8'));
    for (const { names, file: source } of module.imports) {
      const lacking = names.filter((name) => !visit(source).exports.includes(name));
      if (lacking.length > 0) throw new Error(`${file}: ${source} does not export ${lacking.join(', ')}`);
    }
    open.delete(file);
    linked.set(file, module);
    return module;
  };

  visit(entry);
  const script = [...linked.values()].map(scope).join('');
  // HTML, "Restrictions for contents of script elements": either would end or hide the script.
  if (/<\/script|<!--/i.test(script)) throw new Error(`${entry}: a script cannot hold </script or <!--`);
  return script;
}

function parse(file: string, text: string): Module {
  const code = text.replaceAll(comments, '');
  const body = code.replaceAll(importLine, '').replaceAll(exported, '');
  const strange = /^(?:import|export)\b.*/m.exec(body);
  if (strange) throw new Error(`${file}: cannot link: ${strange[0]}`);
  // A template that goes on in the next line: its indentation would be text.
  const half = body.split('\n').find((line) => line.split('`').length % 2 === 0);
  if (half !== undefined) throw new Error(`${file}: cannot link a template of several lines: ${half}`);
  return {
    name: nameOf(file),
    imports: [...code.matchAll(importLine)].map(([, names, source]) => ({
      names: names!.split(/[\s,]+/).filter(Boolean),
      file: source!,
    })),
    exports: [...code.matchAll(exported)].map(([, name]) => name!),
    body: body.replaceAll(indentation, ''),
  };
}

function scope({ name, imports, exports, body }: Module): string {
  const given = imports.map(({ names, file }) => `const { ${names.join(', ')} } = ${nameOf(file)};\n`);
  return `const ${name} = (() => {\n${given.join('')}${body}return { ${exports.join(', ')} };\n})();\n`;
}

/** photo-slot.js → $photo_slot: no module declares a name that begins so. */
function nameOf(file: string): string {
  return `$${file.slice(0, -'.js'.length).replaceAll('-', '_')}`;
}
