// Prints the boxes that the page of an HTML report would draw, as `depth x width name`, one a line in the order of rows:
//   node layout_dump.js REPORT.html 'JSON of filters' [bottom-up]

import { readFileSync } from "node:fs";
import { bottomUpTree, callTree } from "../../web/src/call_tree";
import { decode, fromBase64, unpack } from "../../web/src/decode";
import { layout } from "../../web/src/layout";
import { select } from "../../web/src/selection";
import { defaultState } from "../../web/src/state";

async function main(): Promise<void> {
  const [path, filters, direction] = process.argv.slice(2);
  const html = readFileSync(path, "utf8");
  const block = (id: string) => new RegExp(`id="${id}">([^<]*)</script>`).exec(html)![1];
  const profile = decode(JSON.parse(block("tephra-facts")), await unpack(fromBase64(block("tephra-columns"))));
  const selection = select(profile, { ...defaultState(profile), ...JSON.parse(filters) });
  const tree = direction === "bottom-up" ? bottomUpTree(profile, selection) : callTree(profile, selection);
  const place = layout(tree);
  const lines: string[] = [];
  for (let row = 0; row < place.rows; ++row) {
    for (let at = place.rowStart[row]; at < place.rowStart[row + 1]; ++at) {
      const node = place.nodes[at];
      lines.push(`${row} ${place.x[node]} ${tree.total[node]} ${profile.names.text(tree.name[node])}`);
    }
  }
  console.log(lines.join("\n"));
}

void main();
