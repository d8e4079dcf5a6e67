"""The screens people look at: picker, dashboard and preview, made of one model, one view,
one key table and one theme.

`model` and `view` are pure and import no terminal library; `picker`, `dashboard` and `preview`
are the programs. They talk to the broker through `trailboss.client` alone.
"""
