"""The command line: one small file a verb, rendering, one error funnel. The only place that prints."""
