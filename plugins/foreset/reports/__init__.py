"""Reports for people: what one refresh did and found, and the history of a group, as pages without a script.

Read from the manifest and the run directories, so neither Spark nor Airflow is needed, and a
refresh that failed has a page too. `reading` gathers, `words` says it, `pages` renders it;
`web` serves the pages inside Airflow, `foreset report` writes them to a file.
"""
