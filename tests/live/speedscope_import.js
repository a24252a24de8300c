// node speedscope_import.js PACKAGE PROFILE: what speedscope's own importer, of its npm package, makes of a profile, as
// JSON. The package is one program for browsers: it runs here up to where it would draw, and its importer is called.
'use strict'

const fs = require('fs')
const path = require('path')
const vm = require('vm')

function importerOf(folder) {
  const release = path.join(folder, 'dist', 'release')
  const bundle = fs.readdirSync(release).find(name => /^speedscope-.*\.js$/.test(name))
  const source = fs.readFileSync(path.join(release, bundle), 'utf8')
  const module = source.match(/\(await (\w+)\)\.importProfileGroupFromText\(/)
  const begin = source.lastIndexOf('console.log(`speedscope v')
  if (module === null || begin < 0) throw new Error('the package is not laid out as expected')
  // A document of which anything can be asked, and which does nothing.
  const nothing = new Proxy(function () {}, {
    get: (_, name) => (name === Symbol.toPrimitive ? () => '' : nothing),
    set: () => true,
    apply: () => nothing,
    construct: () => nothing,
  })
  const page = {document: nothing, navigator: nothing, localStorage: nothing, addEventListener() {},
    matchMedia: () => ({matches: false, addListener() {}, addEventListener() {}}),
    location: {hash: '', protocol: 'file:', href: 'file:///'},
    console: {log() {}, warn() {}, time() {}, timeEnd() {}, error() {}},
    setTimeout, clearTimeout, TextDecoder, TextEncoder, performance, URL, WebAssembly, atob}
  page.window = page.self = page
  vm.runInNewContext(source.slice(0, begin) + `globalThis.importer=${module[1]};})();`, page)
  return page.importer
}

// By frame: total and own weight; by position in time: the stacks and their weights.
function describe(profile) {
  const frames = []
  profile.forEachFrame(frame => frames.push({name: frame.name, file: frame.file, line: frame.line,
    total: frame.getTotalWeight(), self: frame.getSelfWeight()}))
  const stacks = []
  const open = []
  let last = 0
  const until = value => {
    if (value > last && open.length > 0) stacks.push({stack: [...open], weight: value - last})
    last = value
  }
  profile.forEachCall((node, value) => { until(value); open.push(node.frame.name) },
                      (node, value) => { until(value); open.pop() })
  return {name: profile.getName(), unit: profile.getWeightUnit(), total: profile.getTotalWeight(),
    weight: profile.getTotalNonIdleWeight(), frames, stacks}
}

async function main([folder, file]) {
  const importer = await importerOf(folder)
  const group = await importer.importProfileGroupFromText(path.basename(file), fs.readFileSync(file, 'utf8'))
  if (group === null) throw new Error('speedscope does not know the format')
  const profiles = group.profiles.map(describe)
  console.log(JSON.stringify({name: group.name, indexToView: group.indexToView, profiles}))
}

main(process.argv.slice(2)).catch(error => { console.error(String(error)); process.exit(1) })
