// A client of isomorphic-git: isomorphic.mjs VERB URL DIRECTORY [ARGUMENT], see clients_test.go.
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const installed = createRequire(path.join(process.env.NODE_MODULES, 'x.js')) // the lock file's, which lie elsewhere
const git = installed('isomorphic-git')
const http = installed('isomorphic-git/http/node')

const [verb, url, dir, argument] = process.argv.slice(2)
const onMessage = (text) => process.stderr.write(text)
const common = { fs, http, dir, url, onMessage }

const verbs = {
  clone: () => git.clone(common),
  shallow: () => git.clone({ ...common, depth: 1, singleBranch: true }),
  fetch: () => git.fetch({ ...common, remote: 'origin', tags: true }),
  deepen: () => git.fetch({ ...common, remote: 'origin', depth: 0x7fffffff, singleBranch: true }),
  id: () => git.fetch({ ...common, ref: argument, singleBranch: true }),
  push: async () => {
    const [from, to] = argument.split(':')
    await git.push({ ...common, ref: from || to, remoteRef: to, force: true, delete: from === '' })
  },
}

if (!verbs[verb]) {
  console.error('isomorphic-git has no way to do this')
  process.exit(1)
}
try {
  await verbs[verb]()
} catch (e) {
  console.error(e.message, e.data ? JSON.stringify(e.data) : '')
  process.exit(1)
}
