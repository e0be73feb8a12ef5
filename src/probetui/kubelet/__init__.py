"""The kubelet's decisions: no I/O, no clock, no threads, no async.

`kubelet` is kubelet.go: the sync loop and HandlePodCleanups. Each package is one of
the kubelet's, and its modules are called like the Go files that they port: `prober`
(prober_manager.go, worker.go, prober.go), `status`, `pod_workers` (UpdatePod, SyncPod,
SyncTerminatingPod), `kuberuntime` (computePodActions, SyncPod, killContainer,
doBackOff, container GC), `images`, `volumes`, `pleg`, `events`. `runtime` stands in
for what Go has: goroutines, timers, formats. `effects` are what the kubelet wants done,
`facts` what it learns, and `journal` what happened.
"""
