"""The probe manager: workers, results, and their effect on a pod's status."""
